import { checkScopeProperty } from '../test/properties/scope.ts'

/** The property of entitlements, a million cases against the oracle, in parts with seeds that are told. */
const total = 1_000_000
const part = 50_000

export async function run(args: readonly string[]): Promise<void> {
  const firstSeed = args[0] === undefined ? Date.now() % 1_000_000_000 : Number(args[0])
  const met = { refused: 0, invisible: 0, visible: 0 }
  const started = performance.now()
  for (let done = 0; done < total; done += part) {
    const seed = firstSeed + done / part
    const found = checkScopeProperty(part, seed)
    for (const verdict of ['refused', 'invisible', 'visible'] as const) met[verdict] += found[verdict]
    const seconds = ((performance.now() - started) / 1000).toFixed(0)
    console.log(`${done + part} of ${total} cases hold, ${seconds} s (seed ${seed})`)
  }
  console.log(`all ${total} cases hold: ${met.visible} visible, ${met.invisible} invisible, ${met.refused} refused`)
}
