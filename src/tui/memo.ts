// Remembers the last answer: a frame that only moves the cursor must not sort the fleet again.

/** The same function, which keeps its newest answer for the arguments that gave it. */
export function memoLast<A extends readonly unknown[], R>(
  make: (...args: A) => R,
): (...args: A) => R {
  let lastArgs: A | undefined
  let last: R
  return (...args) => {
    if (lastArgs === undefined || !sameArgs(lastArgs, args)) {
      last = make(...args)
      lastArgs = args
    }
    return last
  }
}

function sameArgs(a: readonly unknown[], b: readonly unknown[]): boolean {
  return a.length === b.length && a.every((value, index) => Object.is(value, b[index]))
}
