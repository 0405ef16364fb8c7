import { mkdir, open, readdir, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { parquetReadObjects } from 'hyparquet'
import { type BasicType, parquetWriteBuffer } from 'hyparquet-writer'
import { readRegular, readRegularText } from '../platform/regular-file.ts'
import { documentOf } from './copied-document.ts'
import {
  type Column,
  type ColumnKind,
  ConcurrentMirrorError,
  type CopiedDocument,
  type Copy,
  type CopyPosition,
  columnNames,
  columns,
  type SavedStep,
} from './copy.ts'

/**
 * A folder of Parquet files, each with the documents of a range of ids, and `manifest.json`, which lists them. Files
 * are immutable. A step writes new files for the ranges that it touches, then replaces the manifest, and then removes
 * files that the new manifest does not list. A crash leaves the copy as it was before or after the step, and the next
 * step removes the files that are left over. Each document is in one file only, and a deleted one is in none.
 *
 * A step costs a file of up to 2,000 documents for each range that it touches, so many changes are saved together.
 */
interface Manifest {
  readonly format: 1
  readonly revision: number
  readonly place: CopyPosition | null
  /** In the order of ids; no file is empty. */
  readonly files: readonly RangeFile[]
}

interface RangeFile {
  readonly name: string
  readonly documents: number
  readonly first: string
  readonly last: string
}

const manifestName = 'manifest.json'
/** A larger file is split into files of half the limit. */
const fileLimits = { documents: 2000, textLength: 32 * 1024 * 1024 }

const types: Readonly<Record<ColumnKind, BasicType>> = {
  text: 'STRING',
  time: 'TIMESTAMP',
  json: 'JSON',
  number: 'DOUBLE',
}

export class ParquetCopy implements Copy {
  readonly changesAtOnce = 5000
  readonly #folder: string
  #manifest: Manifest

  private constructor(folder: string, manifest: Manifest) {
    this.#folder = folder
    this.#manifest = manifest
  }

  static async open(folder: string): Promise<ParquetCopy> {
    await mkdir(folder, { recursive: true })
    const manifest = await readManifest(folder)
    if (manifest === null && (await readdir(folder)).some((name) => !isOurs(name))) {
      throw new Error(`${folder} cannot be a copy: it holds other data`)
    }
    return new ParquetCopy(folder, manifest ?? { format: 1, revision: 0, place: null, files: [] })
  }

  async position(): Promise<CopyPosition | null> {
    return this.#manifest.place
  }

  async save({ documents, gone, covers, position }: SavedStep): Promise<void> {
    const before = this.#manifest
    if (((await readManifest(this.#folder))?.revision ?? 0) !== before.revision) throw new ConcurrentMirrorError()
    const revision = before.revision + 1
    const changes = new Map<string, CopiedDocument | null>([
      ...gone.map((id): [string, null] => [id, null]),
      ...documents.map((one): [string, CopiedDocument] => [one.id, one]),
    ])
    const isCovered = (id: string): boolean =>
      covers !== undefined && id > covers.after && (covers.through === null || id <= covers.through)
    const files: RangeFile[] = []
    const ids = [...changes.keys()].sort()
    const ends = before.files.map((_, i) => before.files[i + 1]?.first ?? null)
    // Ids before the first file belong to the first, ids after the last one to the last.
    const ranges =
      before.files.length === 0 ? [{ file: null, end: null }] : before.files.map((file, i) => ({ file, end: ends[i]! }))
    let next = 0
    for (const { file, end } of ranges) {
      const from = next
      while (next < ids.length && (end === null || ids[next]! < end)) next++
      const own = ids.slice(from, next)
      const losesAny = file !== null && covers !== undefined && overlaps(file, covers)
      if (file !== null && own.length === 0 && !losesAny) {
        files.push(file)
        continue
      }
      const kept = new Map(
        (file === null ? [] : await this.#read(file)).filter(({ id }) => !isCovered(id)).map((one) => [one.id, one]),
      )
      for (const id of own) {
        const changed = changes.get(id)!
        if (changed === null) kept.delete(id)
        else kept.set(id, changed)
      }
      const rows = [...kept.values()].sort((a, b) => (a.id < b.id ? -1 : 1))
      for (const part of parts(rows)) files.push(await this.#write(part, `${revision}-${files.length}.parquet`))
    }
    const manifest: Manifest = { format: 1, revision, place: position, files }
    await writeDurably(this.#folder, manifestName, JSON.stringify(manifest))
    this.#manifest = manifest
    const listed = new Set(files.map(({ name }) => name))
    const unlisted = (await readdir(this.#folder)).filter(
      (name) => isOurs(name) && name !== manifestName && !listed.has(name),
    )
    await Promise.all(unlisted.map((name) => rm(join(this.#folder, name), { force: true })))
  }

  async after(id: string, most: number): Promise<readonly CopiedDocument[]> {
    const found: CopiedDocument[] = []
    for (const file of this.#manifest.files) {
      if (file.last <= id) continue
      found.push(...(await this.#read(file)).filter((one) => one.id > id))
      // Returns whole files, possibly more than `most`, so that no file is read twice.
      if (found.length >= most) break
    }
    return found
  }

  async read(ids: readonly string[]): Promise<readonly CopiedDocument[]> {
    const found: CopiedDocument[] = []
    for (const file of this.#manifest.files) {
      const own = new Set(ids.filter((id) => id >= file.first && id <= file.last))
      if (own.size > 0) found.push(...(await this.#read(file)).filter(({ id }) => own.has(id)))
    }
    return found
  }

  async close(): Promise<void> {}

  async #read({ name }: RangeFile): Promise<CopiedDocument[]> {
    const bytes = await readRegular(join(this.#folder, name))
    const file = bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength)
    const rows = await parquetReadObjects({ file })
    return rows.map((row) => documentOf((column) => row[column]))
  }

  async #write(rows: readonly CopiedDocument[], name: string): Promise<RangeFile> {
    const columnData = columnNames.map((column) => ({
      name: column,
      type: types[columns[column]],
      nullable: column !== 'id',
      data: rows.map((row) => typed(column, row[column])),
    }))
    await writeDurably(this.#folder, name, new Uint8Array(parquetWriteBuffer({ columnData })))
    return { name, documents: rows.length, first: rows[0]!.id, last: rows.at(-1)!.id }
  }
}

const isOurs = (name: string): boolean => /^(manifest\.json|\d+-\d+\.parquet)(\.new)?$/.test(name)

const overlaps = (file: RangeFile, covers: NonNullable<SavedStep['covers']>): boolean =>
  file.last > covers.after && (covers.through === null || file.first <= covers.through)

function typed(column: Column, value: string | number | null): unknown {
  if (value === null) return null
  if (columns[column] === 'time') return new Date(value)
  return columns[column] === 'json' ? JSON.parse(String(value)) : value
}

/** Splits rows that are too many for one file into half-full files, so that there is room for later changes. */
function* parts(rows: readonly CopiedDocument[]): Generator<readonly CopiedDocument[]> {
  const isLarge = (count: number, length: number): boolean =>
    count > fileLimits.documents || length > fileLimits.textLength
  const lengths = rows.map(({ body }) => String(body ?? '').length)
  const whole = lengths.reduce((sum, length) => sum + length, 0)
  if (!isLarge(rows.length, whole)) {
    if (rows.length > 0) yield rows
    return
  }
  let from = 0
  let length = 0
  for (let i = 0; i < rows.length; i++) {
    length += lengths[i]!
    if (i + 1 === rows.length || isLarge(2 * (i + 1 - from) + 1, 2 * length)) {
      yield rows.slice(from, i + 1)
      from = i + 1
      length = 0
    }
  }
}

async function readManifest(folder: string): Promise<Manifest | null> {
  try {
    return JSON.parse(await readRegularText(join(folder, manifestName)))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null
    throw new Error(`${join(folder, manifestName)} cannot be read: ${(error as Error).message}`, { cause: error })
  }
}

/** Writes a file atomically: it is synced, then renamed, and then the folder is synced. */
async function writeDurably(folder: string, name: string, content: string | Uint8Array): Promise<void> {
  const path = join(folder, name)
  const file = await open(`${path}.new`, 'w', 0o600)
  try {
    await file.writeFile(content)
    await file.sync()
  } finally {
    await file.close()
  }
  await rename(`${path}.new`, path)
  const directory = await open(folder)
  try {
    await directory.sync()
  } finally {
    await directory.close()
  }
}
