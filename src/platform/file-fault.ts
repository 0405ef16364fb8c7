const words: Readonly<Record<string, string>> = {
  ENOENT: 'there is no such file',
  EISDIR: 'it is a folder, not a file',
  EACCES: 'this user may not read it',
  NOT_REGULAR: 'it is not a regular file',
}

/** Describes why a file that a person named cannot be read. */
export function fileFault(error: unknown): string {
  const { code = String(error) } = error as NodeJS.ErrnoException
  return words[code] ?? `it cannot be read (${code})`
}
