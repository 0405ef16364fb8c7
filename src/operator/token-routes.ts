import { Type } from 'typebox'
import { IdempotencyHeaders, shownOnce } from '../http/make-once.ts'
import { optionalBody } from '../http/route.ts'
import type { TypedApp } from '../http/typed-app.ts'
import { formatOptionalTime } from '../platform/time.ts'
import { named, noFields, strict } from '../platform/validation.ts'
import { about, actorOf, adminOf, byId, futureTime, list, route, secretOnce } from './admin-route.ts'
import { tokenAnswer } from './answers.ts'
import type { Operator } from './operator.ts'
import * as schemas from './schemas.ts'

export function tokenRoutes(app: TypedApp, operator: Operator): void {
  app.post(
    '/admin/v1/tokens',
    {
      config: route('owner', 'admin.tokens.create'),
      schema: {
        ...about(
          'Create an admin token',
          `For a person or program that operates the instance. The audit log names the token in every change made with it. ${secretOnce}`,
        ),
        headers: IdempotencyHeaders,
        body: schemas.TokenInput,
        response: { 201: schemas.TokenCreated },
      },
    },
    async (request, reply) => {
      const { name, role, expires_at: expires } = request.body
      const expiresAt = futureTime('expires_at', expires)
      const made = await request.makeOnce(
        (claim) => operator.createToken(actorOf(request), { name, role, expiresAt }, claim),
        shownOnce('admin token', 'revoke that token and make another with a new Idempotency-Key'),
      )
      return reply
        .status(201)
        .header('location', `/admin/v1/tokens/${made.keyId}`)
        .send({ token_id: made.keyId, admin_token: made.secret, expires_at: formatOptionalTime(made.expiresAt) })
    },
  )
  app.get(
    '/admin/v1/tokens',
    {
      config: route('viewer', 'admin.tokens.list'),
      schema: {
        ...about(
          'List admin tokens',
          'Includes revoked and expired tokens, but not the one set with `TIDEMARK_ADMIN_TOKEN` or generated in the data folder. Secrets are never returned.',
        ),
        querystring: noFields,
        response: { 200: list('AdminTokenList', 'tokens', schemas.TokenAnswer) },
      },
    },
    async () => ({ tokens: (await operator.tokens()).map(tokenAnswer) }),
  )
  app.get(
    '/admin/v1/self',
    {
      config: route('viewer', 'admin.self.read'),
      schema: {
        ...about(
          'Get the calling admin token',
          'Addition: the ID, name and role of the admin token that the request is made with.',
        ),
        querystring: noFields,
        response: { 200: schemas.SelfAnswer },
      },
    },
    async (request) => {
      const { keyId, name, role } = adminOf(request)
      return { token_id: keyId, name, role }
    },
  )
  app.get(
    '/admin/v1/tokens/:token_id',
    {
      config: route('viewer', 'admin.tokens.read', 'not_found'),
      schema: {
        ...about('Get an admin token', 'The secret is never returned.'),
        params: byId('token_id'),
        querystring: noFields,
        response: { 200: schemas.TokenAnswer },
      },
    },
    async (request) => tokenAnswer(await operator.token(request.params.token_id!)),
  )
  app.post(
    '/admin/v1/tokens/:token_id/revoke',
    {
      config: route('owner', 'admin.tokens.revoke', 'not_found'),
      schema: {
        ...about(
          'Revoke an admin token',
          'The token is refused from the next request on. Revoking it again changes nothing.',
        ),
        params: byId('token_id'),
        body: optionalBody(named('RevokeAdminTokenRequest', Type.Object({}, strict))),
        response: { 200: schemas.TokenAnswer },
      },
    },
    async (request) => tokenAnswer(await operator.revokeToken(actorOf(request), request.params.token_id!)),
  )
}
