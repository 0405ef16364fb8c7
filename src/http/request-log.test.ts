import assert from 'node:assert/strict'
import { connect } from 'node:net'
import { PassThrough } from 'node:stream'
import { test } from 'node:test'
import Fastify, { type FastifyRequest } from 'fastify'
import { CutOffAnswers } from './request-log.ts'

test('an answer that is cut off is reported with its cause, a client that disconnects is not', async (t) => {
  const reported: unknown[] = []
  const answers: PassThrough[] = []
  const app = Fastify({ logController: new CutOffAnswers() })
  app.decorateRequest('degraded', function (this: FastifyRequest, warning: string, cause: unknown) {
    reported.push([warning, (cause as Error).message])
  })
  app.get('/', async (_request, reply) => {
    const answer = new PassThrough()
    answers.push(answer)
    answer.write('start')
    return reply.send(answer)
  })
  const url = new URL(await app.listen({ host: '127.0.0.1', port: 0 }))
  t.after(() => app.close())

  const started = async (): Promise<ReturnType<typeof connect>> => {
    const socket = connect(Number(url.port), url.hostname)
    socket.write('GET / HTTP/1.1\r\nhost: a\r\n\r\n')
    await new Promise((resolve) => socket.once('data', resolve))
    return socket
  }
  const client = await started()
  const closed = new Promise((resolve) => answers[0]!.once('close', resolve))
  client.destroy()
  await closed
  const cut = await started()
  const ended = new Promise((resolve) => cut.once('close', resolve))
  answers[1]!.destroy(new Error('a disk that cannot be read'))
  await ended
  assert.deepEqual(reported, [['answer_cut_off', 'a disk that cannot be read']])
})
