import assert from 'node:assert/strict'
import { mkdtemp, readFile, rm, symlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { InferenceSession, Tensor } from 'onnxruntime-node'
import { loadBuiltInModel } from './built-in-model.ts'
import { type BuiltInModel, builtInModels } from './built-in-models.ts'

const pathOf = (model: BuiltInModel): string => fileURLToPath(new URL(model.files.weights.name, model.directory))

for (const model of Object.values(builtInModels)) {
  test(`${model.id}: the vectors are the same, bit for bit, as those of the original model file`, async () => {
    const whole = await InferenceSession.create(await readFile(pathOf(model)), { intraOpNumThreads: 1 })
    const loaded = await loadBuiltInModel(model, model.directory, 1)
    for (const length of [1, 7, 64, 130, 512]) {
      const tokens = Array.from({ length }, (_, i) => (i * 7_919 + length) % 30_000)
      const tensor = (value: (token: number) => number) =>
        new Tensor(
          'int64',
          BigInt64Array.from(tokens, (token) => BigInt(value(token))),
          [1, length],
        )
      const { [whole.outputNames[0]!]: output } = await whole.run({
        input_ids: tensor((token) => token),
        attention_mask: tensor(() => 1),
        ...(model.takesTokenTypes ? { token_type_ids: tensor(() => 0) } : {}),
      })
      assert.deepEqual(await loaded.run(tokens), (output!.data as Float32Array).slice(0, model.dimensions))
    }
  })
}

test('the weights are memory-mapped, and their file may be a symbolic link', {
  skip: process.platform !== 'linux',
}, async (t) => {
  const model = builtInModels.bgeSmallEn
  const folder = await mkdtemp(join(tmpdir(), 'tidemark-model-'))
  t.after(() => rm(folder, { recursive: true }))
  for (const { name } of Object.values(model.files)) {
    await symlink(fileURLToPath(new URL(name, model.directory)), join(folder, name))
  }
  const { run } = await loadBuiltInModel(model, pathToFileURL(`${folder}/`), 1)
  assert.equal((await run([101, 102])).length, model.dimensions)
  assert.ok((await readFile('/proc/self/maps', 'utf8')).includes(pathOf(model)))
})
