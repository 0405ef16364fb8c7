import type { TableFile } from '../../compute/table-file.ts'

export const edgeColumns = {
  source_subject_id: 'text',
  target_subject_id: 'text',
  source_document_id: 'text',
  target_document_id: 'text',
  source_version_id: 'text',
  target_version_id: 'text',
  rank: 'int32',
  similarity: 'double',
} as const

const rowsPerGroup = 120_000

export interface NodeIds {
  readonly chunkIds: readonly string[]
  readonly documentIds: readonly string[]
  readonly versionIds: readonly string[]
}

/** Collects edges into row groups. Nodes are given by position. */
export class EdgeTable {
  readonly #file: TableFile<typeof edgeColumns>
  readonly #ids: NodeIds
  #size = 0
  readonly #sources = new Int32Array(rowsPerGroup)
  readonly #targets = new Int32Array(rowsPerGroup)
  readonly #ranks = new Int32Array(rowsPerGroup)
  readonly #similarities = new Float64Array(rowsPerGroup)

  constructor(file: TableFile<typeof edgeColumns>, ids: NodeIds) {
    this.#file = file
    this.#ids = ids
  }

  add(source: number, target: number, rank: number, similarity: number): void {
    const at = this.#size++
    this.#sources[at] = source
    this.#targets[at] = target
    this.#ranks[at] = rank
    this.#similarities[at] = similarity
    if (this.#size === rowsPerGroup) this.writeGroup()
  }

  /** Writes the edges that were added since the last group. */
  writeGroup(): void {
    if (this.#size === 0) return
    const { chunkIds, documentIds, versionIds } = this.#ids
    const ids = (values: readonly string[], positions: Int32Array): string[] => {
      const column = new Array<string>(this.#size)
      for (let i = 0; i < this.#size; i++) column[i] = values[positions[i]!]!
      return column
    }
    this.#file.write({
      source_subject_id: ids(chunkIds, this.#sources),
      target_subject_id: ids(chunkIds, this.#targets),
      source_document_id: ids(documentIds, this.#sources),
      target_document_id: ids(documentIds, this.#targets),
      source_version_id: ids(versionIds, this.#sources),
      target_version_id: ids(versionIds, this.#targets),
      rank: this.#ranks.slice(0, this.#size),
      similarity: this.#similarities.slice(0, this.#size),
    })
    this.#size = 0
  }
}
