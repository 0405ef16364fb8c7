import { readFileSync } from 'node:fs'
import type { FastifyReply, FastifyRequest } from 'fastify'

const file = new URL('../../console/not-found.html', import.meta.url)
let page: string | undefined

/** Someone who came with a browser. Programs that take JSON, or anything, get the error that they get everywhere. */
export function asksForPage({ method, headers }: FastifyRequest): boolean {
  if (method !== 'GET' && method !== 'HEAD') return false
  const types = (headers.accept ?? '').split(',').map((one) => one.split(';', 1)[0]!.trim().toLowerCase())
  return types.includes('text/html') && !types.includes('application/json')
}

export function sendNotFoundPage(reply: FastifyReply): FastifyReply {
  page ??= readFileSync(file, 'utf8')
  return reply.status(404).type('text/html; charset=utf-8').send(page)
}
