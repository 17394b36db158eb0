// Makes text fit for a log: bounded, without control characters, without secrets. Pure.

/** A log field is for reading; what is longer was not meant for it. */
export const MAX_FIELD_LENGTH = 500

const MASK = '***'

/** What looks like a secret wherever it stands, with the part that may stay. */
const SECRETS: readonly [RegExp, string][] = [
  // Credentials in a URL.
  [/([a-z][a-z0-9+.-]*:\/\/)[^\s/?#]*@/gi, `$1${MASK}@`],
  // The key that a path carries for the ollama CLI.
  [/(\/k\/+)[^\s/?#]+/gi, `$1${MASK}`],
  [/\b(bearer|basic)\s+[^\s"',]+/gi, `$1 ${MASK}`],
  [
    /\b(authorization|cookie|x-api-key|api[_-]?key|password|token|secret)(["']?\s*[:=]\s*["']?)[^\s"',;&]+/gi,
    `$1$2${MASK}`,
  ],
  [/\bsk-[\w-]{6,}/g, `sk-${MASK}`],
]

/** One field's value as it may be written. */
export function cleanText(text: string): string {
  const cut = text.slice(0, MAX_FIELD_LENGTH)
  const masked = SECRETS.reduce((rest, [pattern, put]) => rest.replace(pattern, put), cut)
  return text.length > cut.length ? `${visible(masked)}…` : visible(masked)
}

/** Control characters could forge lines, or do things to the terminal that shows them. */
function visible(text: string): string {
  return text.replaceAll(/[\p{Cc}\u2028\u2029\u202a-\u202e\u2066-\u2069]/gu, (char) => {
    return `\\u${(char.codePointAt(0) ?? 0).toString(16).padStart(4, '0')}`
  })
}
