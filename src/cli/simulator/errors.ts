// A refusal in Ollama's words. Where it arises decides how it is framed.

export class SimError extends Error {
  override readonly name = 'SimError'
  readonly status: number
  /**
   * `binding`: the body was not accepted (a compat middleware answers by itself).
   * `handler`: before the request ran. `running`: from the runner, through the stream's channel.
   */
  readonly from: 'binding' | 'handler' | 'running'
  /** Answered in the native shape whatever the dialect, as ollama.com's proxy does. */
  readonly nativeShape: boolean
  readonly extra: Readonly<Record<string, unknown>>

  constructor(
    status: number,
    message: string,
    options: {
      from?: SimError['from']
      nativeShape?: boolean
      extra?: Readonly<Record<string, unknown>>
    } = {},
  ) {
    super(message)
    this.status = status
    this.from = options.from ?? 'handler'
    this.nativeShape = options.nativeShape ?? false
    this.extra = options.extra ?? {}
  }
}

/** llama-server's own error, which Ollama passes on as a string. */
export function llamaServerError(
  fields: { code: number; message: string; type: string } & Record<string, unknown>,
): SimError {
  return new SimError(fields.code, JSON.stringify({ error: fields }), { from: 'running' })
}
