// Helpers of a benchmark run as processes of their own, so that what they cost is not counted.
// Parent and helper call each other's functions by name over the IPC channel.

import { fork } from 'node:child_process'
import path from 'node:path'

type Functions = Readonly<Record<string, (...argument: never[]) => unknown>>

export interface Helper<F extends Functions> extends AsyncDisposable {
  readonly pid: number
  call<N extends keyof F & string>(
    name: N,
    ...argument: Parameters<F[N]>
  ): Promise<Awaited<ReturnType<F[N]>>>
}

interface Question {
  id: number
  name: string
  argument: unknown
}

interface Answer {
  id: number
  value?: unknown
  error?: string
}

/** Starts `FILE.js` of this folder. */
export function startHelper<F extends Functions>(file: string, args: string[] = []): Helper<F> {
  const child = fork(path.join(import.meta.dirname, `${file}.js`), args, {
    env: { ...process.env, NODE_ENV: 'production' },
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  })
  const open = new Map<number, PromiseWithResolvers<unknown>>()
  let last = 0
  const gone = new Promise<void>((resolve) => child.once('exit', () => resolve()))
  void gone.then(() => {
    for (const { reject } of open.values()) reject(new Error(`${file} ended`))
  })
  child.on('message', ({ id, value, error }: Answer) => {
    const question = open.get(id)
    open.delete(id)
    if (error === undefined) question?.resolve(value)
    else question?.reject(new Error(`${file}: ${error}`))
  })
  return {
    pid: child.pid!,
    async call(name, ...[argument]) {
      const question = Promise.withResolvers<unknown>()
      last += 1
      open.set(last, question)
      child.send({ id: last, name, argument } satisfies Question)
      // The helper is of the same build and answers what F says.
      return (await question.promise) as never
    },
    async [Symbol.asyncDispose]() {
      child.kill('SIGKILL')
      await gone
    },
  }
}

/** The helper's side: answers calls until the parent is gone. */
export function serveCalls(functions: Functions): void {
  process.on('disconnect', () => process.exit())
  const answer = async ({ id, name, argument }: Question): Promise<Answer> => {
    try {
      return { id, value: await functions[name]!(argument as never) }
    } catch (error) {
      return { id, error: String(error) }
    }
  }
  process.on('message', (question: Question) => {
    void answer(question).then((said) => process.send!(said))
  })
}
