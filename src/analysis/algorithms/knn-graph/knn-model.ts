/**
 * The two small ONNX graphs that do the arithmetic. They are encoded by hand, so that there is no model file to
 * maintain.
 *
 *   nearest   rows [m, d], all [n, d], keep [1]  ->  scores [m, keep] descending, positions [m, keep] (int32)
 *   scores    rows [m, d], all [n, d]            ->  scores [m, n]
 *
 * A graph is a protobuf message (onnx.proto), and the field numbers below are from there.
 */
const encoder = new TextEncoder()

type Field = readonly [number: number, value: number | string | readonly Field[]]

function varint(value: number): number[] {
  const bytes: number[] = []
  let rest = value
  while (rest > 127) {
    bytes.push((rest & 127) | 128)
    rest >>>= 7
  }
  return [...bytes, rest]
}

function encode(fields: readonly Field[]): number[] {
  return fields.flatMap(([number, value]) => {
    if (typeof value === 'number') return [...varint(number << 3), ...varint(value)]
    const bytes = typeof value === 'string' ? [...encoder.encode(value)] : encode(value)
    return [...varint((number << 3) | 2), ...varint(bytes.length), ...bytes]
  })
}

const elementTypes = { float: 1, int32: 6, int64: 7 } as const

function value(name: string, type: keyof typeof elementTypes, dimensions: readonly (string | number)[]): Field[] {
  const shape: Field[] = dimensions.map((size) => [1, [typeof size === 'number' ? [1, size] : [2, size]]])
  const tensor: Field[] = [
    [1, elementTypes[type]],
    [2, shape],
  ]
  return [
    [1, name],
    [2, [[1, tensor]]],
  ]
}

interface Node {
  readonly operator: string
  readonly inputs: readonly string[]
  readonly outputs: readonly string[]
  readonly attributes?: Readonly<Record<string, number>>
}

function node({ operator, inputs, outputs, attributes = {} }: Node): Field[] {
  const integer = 2
  return [
    ...inputs.map((name): Field => [1, name]),
    ...outputs.map((name): Field => [2, name]),
    [4, operator],
    ...Object.entries(attributes).map(
      ([name, number]): Field => [
        5,
        [
          [1, name],
          [3, number],
          [20, integer],
        ],
      ],
    ),
  ]
}

function model(nodes: readonly Node[], inputs: readonly Field[][], outputs: readonly Field[][]): Uint8Array {
  const graph: Field[] = [
    ...nodes.map((one): Field => [1, node(one)]),
    [2, 'knn'],
    ...inputs.map((one): Field => [11, one]),
    ...outputs.map((one): Field => [12, one]),
  ]
  const operatorSet: Field[] = [
    [1, ''],
    [2, 13],
  ]
  return Uint8Array.from(
    encode([
      [1, 7],
      [7, graph],
      [8, operatorSet],
    ]),
  )
}

const product: Node = { operator: 'Gemm', inputs: ['rows', 'all'], outputs: ['scores'], attributes: { transB: 1 } }
const rows = value('rows', 'float', ['m', 'd'])
const all = value('all', 'float', ['n', 'd'])

export const scoresModel = (): Uint8Array => model([product], [rows, all], [value('scores', 'float', ['m', 'n'])])

export const nearestModel = (): Uint8Array =>
  model(
    [
      product,
      {
        operator: 'TopK',
        inputs: ['scores', 'keep'],
        outputs: ['best', 'positions64'],
        attributes: { axis: 1, largest: 1, sorted: 1 },
      },
      // 64-bit numbers would arrive as bigints.
      { operator: 'Cast', inputs: ['positions64'], outputs: ['positions'], attributes: { to: elementTypes.int32 } },
    ],
    [rows, all, value('keep', 'int64', [1])],
    [value('best', 'float', ['m', 'k']), value('positions', 'int32', ['m', 'k'])],
  )
