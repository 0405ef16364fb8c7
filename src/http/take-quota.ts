import type { FastifyReply, FastifyRequest } from 'fastify'
import { type Operation, quotaOperations } from '../access/operations.ts'
import type { UsageBook } from '../access/usage-book.ts'
import { TidemarkError } from '../platform/errors.ts'
import { formatTime, nextUtcDayAt } from '../platform/time.ts'
import { consumerOf } from './route.ts'

/** Takes one unit of the route's daily quota: after every check that could refuse the request, and before the work. */
export async function takeQuota(
  request: FastifyRequest,
  reply: FastifyReply,
  usage: UsageBook,
  operation: Operation = request.routeOptions.config.operation!,
): Promise<void> {
  const nowMs = Date.now()
  const quota = await usage.take(consumerOf(request), operation, nowMs)
  if (quota.limit === null) return
  const policy = `"daily";q=${quota.limit};w=86400`
  const remaining = quota.taken ? quota.limit - quota.used! : 0
  addTo(reply, 'ratelimit-policy', policy)
  addTo(reply, 'ratelimit', `"daily";r=${remaining}`)
  if (!quota.taken) {
    const { limit, retryAfterSeconds } = quota
    const name = quotaOperations[operation as keyof typeof quotaOperations]
    const until = formatTime(nextUtcDayAt(nowMs))
    const message = `the daily quota ${name} (${limit} per UTC day) is used up: it resets at ${until}`
    const details = [{ path: `policy.daily_quotas.${name}`, message: `${limit} per UTC day, reset at ${until}` }]
    throw new TidemarkError('quota_exceeded', message, { retryAfterSeconds, details })
  }
}

/** Appends to the header that the rate limit has set. An internal request has no such header. */
function addTo(reply: FastifyReply, header: string, value: string): void {
  const existing = reply.getHeader(header)
  reply.header(header, existing === undefined ? value : `${existing}, ${value}`)
}
