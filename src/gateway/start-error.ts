/**
 * The gateway cannot start, and the operator has to do something first. `serve` prints the message
 * alone and exits with `exitCode`: 78 for config or state that is not valid, 1 for everything else.
 */
export class StartError extends Error {
  override readonly name = 'StartError'
  readonly exitCode: 1 | 78

  constructor(message: string, exitCode: 1 | 78, options?: { cause?: unknown }) {
    super(message, options)
    this.exitCode = exitCode
  }
}
