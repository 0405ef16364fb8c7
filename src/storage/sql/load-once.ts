/** An import that was done before still takes 60 us. */
export function loadOnce<T>(load: () => Promise<T>): () => Promise<T> {
  let loaded: Promise<T> | null = null
  return () => {
    loaded ??= load()
    return loaded
  }
}
