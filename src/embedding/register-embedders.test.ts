import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { ConfigError } from '../settings/config.ts'
import { silentPoolWatch } from '../threads/pool.ts'
import { type ProfileRegistry, registerEmbedders } from './register-embedders.ts'

type Stored = Awaited<ReturnType<ProfileRegistry['embeddingProfiles']>>[number]

const none = { embeddingUrl: null, embeddingModel: null, embeddingKey: null }
const bge: Stored = { profileId: 'bge-small-en-v1.5', provider: 'builtin', model: 'bge-small-en-v1.5', dimensions: 384 }

async function registered(
  settings: Partial<typeof none | Record<keyof typeof none, string>>,
  stored: readonly Stored[] = [],
) {
  const put: string[] = []
  const registry: ProfileRegistry = {
    embeddingProfiles: async () => stored,
    register: async (profiles) => {
      for (const { profileId, languages } of profiles) put.push(`${profileId} ${languages ?? '*'}`)
    },
  }
  const { embedder, besides, before } = await registerEmbedders({ ...none, ...settings }, registry, silentPoolWatch)
  const ids = (embedders: readonly { profileId: string }[]) => embedders.map(({ profileId }) => profileId)
  return { put, default: embedder.profileId, besides: ids(besides), before: ids(before) }
}

suite('the embedders of an instance', () => {
  test('without settings, the multilingual model serves all texts and the English one English texts', async () => {
    assert.deepEqual(await registered({}), {
      put: ['multilingual-e5-small-q4 *', 'bge-small-en-v1.5 en'],
      default: 'multilingual-e5-small-q4',
      besides: ['bge-small-en-v1.5'],
      before: [],
    })
  })

  test('a built-in model that is named is used alone', async () => {
    const { put, before } = await registered({ embeddingModel: 'bge-small-en-v1.5' }, [bge])
    assert.deepEqual([put, before], [['bge-small-en-v1.5 en'], []])
  })

  test('another name without an endpoint is an error that lists the valid names', async () => {
    for (const embeddingModel of ['gpt', 'bge-small-en-v1.5,', 'bge-small-en-v1.5;multilingual-e5-small-q4']) {
      await assert.rejects(registered({ embeddingModel }), (error) => {
        assert.ok(error instanceof ConfigError)
        assert.match(error.message, /multilingual-e5-small-q4/)
        return true
      })
    }
  })

  test('a model named twice, or a model for some languages before one for all, is an error that names it', async () => {
    for (const [embeddingModel, message] of [
      ['bge-small-en-v1.5,bge-small-en-v1.5', /bge-small-en-v1.5 twice/],
      ['bge-small-en-v1.5,multilingual-e5-small-q4', /multilingual-e5-small-q4 after bge-small-en-v1.5/],
    ] as const) {
      await assert.rejects(registered({ embeddingModel }), message)
    }
    const { put } = await registered({ embeddingModel: 'multilingual-e5-small-q4,bge-small-en-v1.5' })
    assert.deepEqual(put, ['multilingual-e5-small-q4 *', 'bge-small-en-v1.5 en'])
  })

  test('previous profiles with a built-in model can still answer queries; an endpoint that is no longer set cannot', async () => {
    const gone: Stored = { profileId: 'remote', provider: 'http', model: 'remote', dimensions: 3 }
    assert.deepEqual((await registered({ embeddingModel: 'multilingual-e5-small-q4' }, [bge, gone])).before, [
      'bge-small-en-v1.5',
    ])
    assert.deepEqual((await registered({}, [bge, gone])).before, ['bge-small-en-v1.5'])
    const remote = { embeddingUrl: 'http://127.0.0.1:9/v1', embeddingModel: 'remote' }
    assert.deepEqual((await registered(remote, [bge, gone])).before, ['bge-small-en-v1.5'])
  })
})
