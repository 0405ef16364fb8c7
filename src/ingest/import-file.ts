import { createReadStream } from 'node:fs'
import { type FileHandle, open, rename, rm, stat, writeFile } from 'node:fs/promises'
import { readRegularText } from '../platform/regular-file.ts'
import { checkLine } from './check-line.ts'
import type { Ingest } from './ingest.ts'
import { ingestLines } from './ingest-lines.ts'
import { ingestLimits } from './limits.ts'
import type { Pace } from './pace.ts'
import { readLines } from './read-lines.ts'

export interface ImportProgress {
  readonly bytes: number
  readonly totalBytes: number | null
  readonly lines: number
  readonly refused: number
  readonly outcomes: Readonly<Record<string, number>>
  readonly resumedAt: number
  /** Whether storing waits for the search index. */
  readonly isHeldUp: boolean
}

export interface ImportSource {
  /** null: standard input, which cannot be resumed. */
  readonly path: string | null
  /** Where the position is saved during the import. null: nowhere, and a stopped import starts again. */
  readonly position: string | null
  /** Where refused lines are written. null: nowhere. */
  readonly refused: string | null
}

interface Saved {
  readonly bytes: number
  readonly size: number
  readonly modifiedMs: number
  readonly start: string
}

/**
 * Imports an NDJSON file into the store. After each portion that is on disk, the position is saved beside the file, so
 * that a stopped import resumes there. Refused lines are kept with the reason, to be corrected and imported again.
 */
export async function importFile(
  source: ImportSource,
  ingest: Pick<Ingest, 'submit'>,
  report: (progress: ImportProgress) => void,
  pace: Pace | null = null,
): Promise<ImportProgress> {
  const fingerprint = source.path === null ? null : await fingerprintOf(source.path)
  const { position } = source
  const resumedAt = fingerprint === null || position === null ? 0 : await savedPosition(position, fingerprint)
  const stream = source.path === null ? process.stdin : createReadStream(source.path, { start: resumedAt })
  const counts: Record<string, number> = {}
  let progress: ImportProgress = {
    bytes: resumedAt,
    totalBytes: fingerprint?.size ?? null,
    lines: 0,
    refused: 0,
    outcomes: counts,
    resumedAt,
    isHeldUp: false,
  }
  // If the store fails, the import stops and can be resumed there. Reading on would refuse valid lines.
  const stop = (error: unknown): never => {
    throw error
  }
  let refusals: FileHandle | null = null
  try {
    const lines = readLines(stream, ingestLimits.lineBytesMax)
    for await (const portion of ingestLines(lines, checkLine, ingest, stop)) {
      let { refused } = progress
      let refusedLines = ''
      for (const { line, result } of portion) {
        if ('refusal' in result) {
          refused++
          refusedLines += `${JSON.stringify({ error: result.refusal, line: line.text })}\n`
        } else counts[result.outcome] = (counts[result.outcome] ?? 0) + 1
      }
      if (refusedLines !== '' && source.refused !== null) {
        refusals ??= await open(source.refused, resumedAt > 0 ? 'a' : 'w')
        await refusals.appendFile(refusedLines)
      }
      const bytes = resumedAt + portion.at(-1)!.line.endsAt
      progress = { ...progress, bytes, lines: progress.lines + portion.length, refused }
      if (fingerprint !== null && position !== null) await savePosition(position, { ...fingerprint, bytes })
      report(progress)
      await pace?.after(portion.length, () => report({ ...progress, isHeldUp: true }))
    }
  } finally {
    await refusals?.close()
  }
  if (position !== null) await rm(position, { force: true })
  return fingerprint === null ? progress : { ...progress, bytes: fingerprint.size }
}

/** Identifies a file well enough to notice that its content was replaced. */
async function fingerprintOf(path: string): Promise<Omit<Saved, 'bytes'>> {
  const { size, mtimeMs } = await stat(path)
  const file = await open(path)
  const { buffer, bytesRead } = await file.read(Buffer.alloc(64), 0, 64, 0)
  await file.close()
  return { size, modifiedMs: mtimeMs, start: buffer.subarray(0, bytesRead).toString('base64') }
}

async function savedPosition(path: string, fingerprint: Omit<Saved, 'bytes'>): Promise<number> {
  const saved = await readSaved(path)
  const same = saved !== null && saved.start === fingerprint.start && saved.bytes <= fingerprint.size
  return same ? saved.bytes : 0
}

async function readSaved(path: string): Promise<Saved | null> {
  try {
    const saved: Saved = JSON.parse(await readRegularText(path))
    return typeof saved.bytes === 'number' && typeof saved.start === 'string' ? saved : null
  } catch (error) {
    if (error instanceof SyntaxError || (error as NodeJS.ErrnoException).code === 'ENOENT') return null
    throw error
  }
}

/** Renamed into place, so that a crash leaves either the old position or the new one. */
async function savePosition(path: string, saved: Saved): Promise<void> {
  await writeFile(`${path}.new`, JSON.stringify(saved))
  await rename(`${path}.new`, path)
}
