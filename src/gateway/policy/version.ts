// Ollama's versions as numbers; what follows the third one (rc2) is left out.

/** Undefined for what is no version, and for the 0.0.0 of a build of one's own. */
export function versionNumbers(version: string | undefined): readonly number[] | undefined {
  const match = /^v?(\d{1,9})\.(\d{1,9})\.(\d{1,9})/.exec(version ?? '')
  const parts = match?.slice(1).map(Number)
  return parts?.some((part) => part > 0) === true ? parts : undefined
}

/** Negative where `a` is older. */
export function compareVersions(a: readonly number[], b: readonly number[]): number {
  const at = a.findIndex((part, index) => part !== b[index])
  return (a[at] ?? 0) - (b[at] ?? 0)
}
