/**
 * Yields what any of the streams yields, as it comes. A slow reader holds them all back: each is
 * asked for its next value only after the one before was taken. Ending it ends them all.
 */
export async function* mergeStreams<T>(
  streams: readonly AsyncGenerator<T, void, undefined>[],
): AsyncGenerator<T, void, undefined> {
  type Next = { stream: AsyncGenerator<T, void, undefined>; result: IteratorResult<T, void> }
  const next = async (stream: AsyncGenerator<T, void, undefined>): Promise<Next> => ({
    stream,
    result: await stream.next(),
  })
  const pending = new Map(streams.map((stream) => [stream, next(stream)]))
  try {
    while (pending.size > 0) {
      const { stream, result } = await Promise.race(pending.values())
      if (result.done === true) {
        pending.delete(stream)
        continue
      }
      pending.set(stream, next(stream))
      yield result.value
    }
  } finally {
    await Promise.allSettled([...pending.keys()].map((stream) => stream.return()))
  }
}
