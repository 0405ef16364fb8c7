import { createHash } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'

/**
 * `node scripts/split-model.ts models/NAME/FILE.onnx` writes `graph.onnx` beside it and prints its checksum. It is the
 * same model, but instead of the large weights it has their offsets in FILE. The runtime maps the weights from FILE. So
 * all processes of a model share them as pages of a file, which the system may evict, and no process has a copy of its
 * own.
 */

/** Smaller weights stay in the graph, because a mapping takes whole pages and a system call. */
const largeBytes = 65_536
/** Field numbers in ONNX's protocol buffers. */
const model = { graph: 7 } as const
const graph = { initializer: 5 } as const
const tensor = { dataType: 2, rawData: 9, externalData: 13, dataLocation: 14 } as const
const entry = { key: 1, value: 2 } as const
const float32 = 1
const isExternal = 1

/** The byte ranges of a field and of its content. */
interface Field {
  readonly number: number
  readonly from: number
  readonly contentFrom: number
  readonly end: number
}

/** `bytes` is the content of the file `fileName`. */
function graphWithWeightsInFile(bytes: Buffer, fileName: string): Buffer {
  return rewrite(0, bytes.length, model.graph, (field) =>
    message(
      model.graph,
      rewrite(field.contentFrom, field.end, graph.initializer, (found) => {
        const { contentFrom, end } = found
        const raw = fieldsOf(bytes, contentFrom, end).find(({ number }) => number === tensor.rawData)
        if (raw === undefined || end - contentFrom < largeBytes || !isAligned(found, raw)) return null
        const reference = {
          location: fileName,
          offset: String(raw.contentFrom),
          length: String(raw.end - raw.contentFrom),
        }
        const external = Object.entries(reference).map(([name, value]) =>
          message(tensor.externalData, message(entry.key, Buffer.from(name)), message(entry.value, Buffer.from(value))),
        )
        const rest = rewrite(contentFrom, end, tensor.rawData, () => Buffer.concat(external))
        return message(graph.initializer, rest, varint(tensor.dataLocation * 8), varint(isExternal))
      }),
    ),
  )

  /** Replaces each field with this number by the bytes that `by` returns, and keeps it if `by` returns null. */
  function rewrite(from: number, end: number, number: number, by: (field: Field) => Buffer | null): Buffer {
    const fields = fieldsOf(bytes, from, end)
    return Buffer.concat(
      fields.map((field) => (field.number === number ? by(field) : null) ?? bytes.subarray(field.from, field.end)),
    )
  }

  /** The runtime reads weights in place, and some processors need aligned numbers. */
  function isAligned({ contentFrom, end }: Field, raw: Field): boolean {
    const type = fieldsOf(bytes, contentFrom, end).find(({ number }) => number === tensor.dataType)
    return raw.contentFrom % 4 === 0 || (type !== undefined && bytes[type.contentFrom] !== float32)
  }
}

function fieldsOf(bytes: Buffer, from: number, end: number): Field[] {
  const fields: Field[] = []
  for (let at = from; at < end; ) {
    const start = at
    const key = next()
    const kind = key % 8
    const length = kind === 2 ? next() : kind === 5 ? 4 : kind === 1 ? 8 : null
    const contentFrom = at
    if (length === null) next()
    else at += length
    fields.push({ number: Math.floor(key / 8), from: start, contentFrom, end: at })

    function next(): number {
      let value = 0
      for (let factor = 1; ; factor *= 128) {
        const byte = bytes[at++] ?? 0
        value += (byte % 128) * factor
        if (byte < 128) return value
      }
    }
  }
  return fields
}

function message(number: number, ...parts: readonly Buffer[]): Buffer {
  const content = Buffer.concat(parts)
  return Buffer.concat([varint(number * 8 + 2), varint(content.length), content])
}

function varint(value: number): Buffer {
  const bytes: number[] = []
  for (let left = value; ; left = Math.floor(left / 128)) {
    if (left < 128) return Buffer.from([...bytes, left])
    bytes.push(128 + (left % 128))
  }
}

const [file] = process.argv.slice(2)
if (file === undefined) throw new Error('usage: node scripts/split-model.ts models/NAME/FILE.onnx')
const written = graphWithWeightsInFile(readFileSync(file), basename(file))
writeFileSync(join(dirname(file), 'graph.onnx'), written)
console.log(`${createHash('sha256').update(written).digest('hex')}  graph.onnx, ${written.length} bytes`)
