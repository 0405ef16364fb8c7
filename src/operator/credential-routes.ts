import { Type } from 'typebox'
import { IdempotencyHeaders, shownOnce } from '../http/make-once.ts'
import { optionalBody } from '../http/route.ts'
import type { TypedApp } from '../http/typed-app.ts'
import { formatOptionalTime, formatTime } from '../platform/time.ts'
import { named, noFields, strict } from '../platform/validation.ts'
import { about, actorOf, byId, futureTime, list, route, secretOnce } from './admin-route.ts'
import { collectorAnswer, keyAnswer } from './answers.ts'
import { type Operator, rotationGraceSecondsDefault } from './operator.ts'
import * as schemas from './schemas.ts'

export function keyRoutes(app: TypedApp, operator: Operator): void {
  app.post(
    '/admin/v1/applications/:application_id/keys',
    {
      config: route('operator', 'admin.keys.create', 'not_found'),
      schema: {
        ...about('Create an API key', secretOnce),
        params: byId('application_id'),
        headers: IdempotencyHeaders,
        body: optionalBody(schemas.KeyInput),
        response: { 201: schemas.KeyCreated },
      },
    },
    async (request, reply) => {
      const { name = null, expires_at: expires } = request.body ?? {}
      const expiresAt = futureTime('expires_at', expires)
      const applicationId = request.params.application_id!
      const key = await request.makeOnce(
        (claim) => operator.createKey(actorOf(request), applicationId, { name, expiresAt }, claim),
        shownOnce('key', 'revoke that key and make another with a new Idempotency-Key'),
      )
      return reply
        .status(201)
        .header('location', `/admin/v1/keys/${key.keyId}`)
        .send({ key_id: key.keyId, api_key: key.secret, expires_at: formatOptionalTime(key.expiresAt) })
    },
  )
  app.get(
    '/admin/v1/applications/:application_id/keys',
    {
      config: route('viewer', 'admin.keys.list', 'not_found'),
      schema: {
        ...about(
          'List the API keys of an application',
          'Includes revoked and expired keys. Secrets are never returned.',
        ),
        params: byId('application_id'),
        querystring: noFields,
        response: { 200: list('KeyList', 'keys', schemas.KeyAnswer) },
      },
    },
    async (request) => {
      const { applicationId } = await operator.application(request.params.application_id!)
      return { keys: (await operator.keys({ ownerId: applicationId })).map(keyAnswer) }
    },
  )
  app.get(
    '/admin/v1/keys/:key_id',
    {
      config: route('viewer', 'admin.keys.read', 'not_found'),
      schema: {
        ...about('Get a key', 'The secret is never returned.'),
        params: byId('key_id'),
        querystring: noFields,
        response: { 200: schemas.KeyAnswer },
      },
    },
    async (request) => keyAnswer(await operator.key(request.params.key_id!)),
  )
  app.get(
    '/admin/v1/keys',
    {
      config: route('viewer', 'admin.keys.listAll'),
      schema: {
        ...about('List all keys', 'All keys of applications and collectors.'),
        querystring: noFields,
        response: { 200: list('KeyList', 'keys', schemas.KeyAnswer) },
      },
    },
    async () => ({ keys: (await operator.keys({})).map(keyAnswer) }),
  )
  app.post(
    '/admin/v1/keys/:key_id/revoke',
    {
      config: route('operator', 'admin.keys.revoke', 'not_found'),
      schema: {
        ...about('Revoke a key', 'The key is refused from the next request on. Revoking it again changes nothing.'),
        params: byId('key_id'),
        body: optionalBody(named('RevokeKeyRequest', Type.Object({}, strict))),
        response: { 200: schemas.KeyAnswer },
      },
    },
    async (request) => keyAnswer(await operator.revokeKey(actorOf(request), request.params.key_id!)),
  )
  app.post(
    '/admin/v1/keys/:key_id/rotate',
    {
      config: route('operator', 'admin.keys.rotate', 'not_found', 'conflict'),
      schema: {
        ...about(
          'Rotate a key',
          `Creates a new key to replace this one. The old key keeps working for \`grace_seconds\` (default: 24 hours). ${secretOnce}`,
        ),
        params: byId('key_id'),
        headers: IdempotencyHeaders,
        body: optionalBody(schemas.RotateInput),
        response: { 201: schemas.KeyRotated },
      },
    },
    async (request, reply) => {
      const grace = request.body?.grace_seconds ?? rotationGraceSecondsDefault
      const replaces = request.params.key_id!
      const key = await request.makeOnce(
        (claim) => operator.rotateKey(actorOf(request), replaces, grace, claim),
        shownOnce('key', 'rotate that key instead, with a new Idempotency-Key'),
      )
      return reply
        .status(201)
        .header('location', `/admin/v1/keys/${key.keyId}`)
        .send({
          key_id: key.keyId,
          api_key: key.secret,
          expires_at: formatOptionalTime(key.expiresAt),
          replaces,
          old_key_expires_at: formatTime(key.oldExpiresAt),
        })
    },
  )
}

export function collectorRoutes(app: TypedApp, operator: Operator): void {
  app.post(
    '/admin/v1/collectors',
    {
      config: route('operator', 'admin.collectors.create'),
      schema: {
        ...about('Create a collector', `Creates a collector and a key for it. ${secretOnce}`),
        headers: IdempotencyHeaders,
        body: schemas.CollectorInput,
        response: { 201: schemas.CollectorCreated },
      },
    },
    async (request, reply) => {
      const { name, datasets = null } = request.body
      const made = await request.makeOnce(
        (claim) => operator.createCollector(actorOf(request), { name, datasets }, claim),
        shownOnce('collector', 'rotate its key (GET /admin/v1/keys names it)'),
      )
      return reply
        .status(201)
        .header('location', `/admin/v1/collectors/${made.collectorId}`)
        .send({ collector_id: made.collectorId, collector_key: made.secret, key_id: made.keyId })
    },
  )
  app.get(
    '/admin/v1/collectors',
    {
      config: route('viewer', 'admin.collectors.list'),
      schema: {
        ...about('List collectors'),
        querystring: noFields,
        response: { 200: list('CollectorList', 'collectors', schemas.CollectorAnswer) },
      },
    },
    async () => ({ collectors: (await operator.read.collectors()).map(collectorAnswer) }),
  )
  app.get(
    '/admin/v1/collectors/:collector_id',
    {
      config: route('viewer', 'admin.collectors.read', 'not_found'),
      schema: {
        ...about('Get a collector'),
        params: byId('collector_id'),
        querystring: noFields,
        response: { 200: schemas.CollectorAnswer },
      },
    },
    async (request) => collectorAnswer(await operator.collector(request.params.collector_id!)),
  )
  app.delete(
    '/admin/v1/collectors/:collector_id',
    {
      config: route('operator', 'admin.collectors.delete', 'not_found', 'in_use'),
      schema: {
        ...about(
          'Delete a collector',
          'Its keys are refused from the next request on. The documents it sent and the audit log are kept. 409 `in_use`, with counts in `details`, if it has valid keys or holds tasks and `force` is not true.',
        ),
        params: byId('collector_id'),
        querystring: schemas.DeleteQuery,
        response: { 204: Type.Null({ description: 'Deleted.' }) },
      },
    },
    async (request, reply) => {
      await operator.deleteCollector(actorOf(request), request.params.collector_id!, request.query.force === true)
      return reply.status(204).send(null)
    },
  )
}
