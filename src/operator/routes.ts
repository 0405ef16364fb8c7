import { type TSchema, Type } from 'typebox'
import type { Operation } from '../access/operations.ts'
import { Policy } from '../access/policy.ts'
import { TidemarkError } from '../errors.ts'
import { optionalBody } from '../http/route.ts'
import type { TypedApp } from '../http/typed.ts'
import { formatOptionalTime, formatTime, parseTime, utcDay } from '../time.ts'
import { detailsOf, messageOf, validatorFor } from '../validation.ts'
import {
  applicationAnswer,
  classificationAnswer,
  collectorAnswer,
  datasetAnswer,
  keyAnswer,
  profileAnswer,
} from './answers.ts'
import { type Operator, rotationGraceSecondsDefault } from './operator.ts'
import * as schemas from './schemas.ts'

const actor = 'admin-api'
const usageDaysDefault = 7

const route = (operation: Operation) => ({ surface: 'admin', operation, invalid: 'invalid_request' }) as const
const about = (summary: string, description?: string) => ({
  tags: ['Admin'],
  summary,
  ...(description === undefined ? {} : { description }),
})
const list = <T extends TSchema>(plural: string, item: T) => Type.Object({ [plural]: Type.Array(item) })
const nothing = Type.Object({}, { additionalProperties: false })
const byId = (name: string) => Type.Object({ [name]: Type.String({ minLength: 1, maxLength: 128 }) })

const policyValidator = validatorFor(Policy, 'body')

export function operatorRoutes(app: TypedApp, operator: Operator): void {
  datasetRoutes(app, operator)
  profileRoutes(app, operator)
  applicationRoutes(app, operator)
  keyRoutes(app, operator)
  collectorRoutes(app, operator)
  reportRoutes(app, operator)
}

function datasetRoutes(app: TypedApp, operator: Operator): void {
  app.put(
    '/admin/v1/datasets/:dataset_id',
    {
      config: route('admin.datasets.put'),
      schema: {
        ...about('Make or change a dataset'),
        params: Type.Object({ dataset_id: schemas.DatasetId }),
        body: schemas.DatasetInput,
        response: { 200: schemas.DatasetAnswer, 201: schemas.DatasetAnswer },
      },
    },
    async (request, reply) => {
      const datasetId = request.params.dataset_id
      const { name, description = null } = request.body
      const [outcome] = await operator.commit(actor, [{ kind: 'dataset.put', datasetId, name, description }])
      return reply.status(outcome === 'created' ? 201 : 200).send(datasetAnswer(await operator.dataset(datasetId)))
    },
  )
  app.get(
    '/admin/v1/datasets',
    {
      config: route('admin.datasets.list'),
      schema: {
        ...about('Every dataset'),
        querystring: nothing,
        response: { 200: list('datasets', schemas.DatasetAnswer) },
      },
    },
    async () => ({ datasets: (await operator.read.datasets()).map(datasetAnswer) }),
  )
  app.put(
    '/admin/v1/datasets/:dataset_id/classifications/:code',
    {
      config: route('admin.classifications.put'),
      schema: {
        ...about('Make or change a classification of a dataset'),
        params: Type.Object({ dataset_id: schemas.DatasetId, code: schemas.ClassificationCode }),
        body: schemas.ClassificationInput,
        response: { 200: schemas.ClassificationAnswer, 201: schemas.ClassificationAnswer },
      },
    },
    async (request, reply) => {
      const { dataset_id: datasetId, code } = request.params
      const { name, description = null, label_schema: labelSchema = {}, active = true } = request.body
      const one = { datasetId, code, name, description, labelSchema, active }
      const [outcome] = await operator.commit(actor, [{ kind: 'classification.put', ...one }])
      return reply.status(outcome === 'created' ? 201 : 200).send(classificationAnswer(one))
    },
  )
  app.get(
    '/admin/v1/datasets/:dataset_id/classifications',
    {
      config: route('admin.classifications.list'),
      schema: {
        ...about('The classifications of a dataset, inactive ones included'),
        params: byId('dataset_id'),
        querystring: nothing,
        response: { 200: list('classifications', schemas.ClassificationAnswer) },
      },
    },
    async (request) => {
      const { datasetId } = await operator.dataset(request.params.dataset_id!)
      return { classifications: (await operator.read.classifications(datasetId)).map(classificationAnswer) }
    },
  )
}

function profileRoutes(app: TypedApp, operator: Operator): void {
  app.put(
    '/admin/v1/embedding-profiles/:id',
    {
      config: route('admin.profiles.put'),
      schema: {
        ...about(
          'Register or change an embedding profile',
          'The dimensions of a profile cannot change once they are known.',
        ),
        params: Type.Object({ id: schemas.ProfileId }),
        body: schemas.ProfileInput,
        response: { 200: schemas.ProfileAnswer, 201: schemas.ProfileAnswer },
      },
    },
    async (request, reply) => {
      const profileId = request.params.id
      const [outcome] = await operator.commit(actor, [{ kind: 'profile.put', profileId, ...request.body }])
      const profile = (await operator.read.embeddingProfiles()).find((one) => one.profileId === profileId)!
      return reply.status(outcome === 'created' ? 201 : 200).send(profileAnswer(profile))
    },
  )
  app.get(
    '/admin/v1/embedding-profiles',
    {
      config: route('admin.profiles.list'),
      schema: {
        ...about('Every embedding profile'),
        querystring: nothing,
        response: { 200: list('embedding_profiles', schemas.ProfileAnswer) },
      },
    },
    async () => ({ embedding_profiles: (await operator.read.embeddingProfiles()).map(profileAnswer) }),
  )
}

function applicationRoutes(app: TypedApp, operator: Operator): void {
  app.post(
    '/admin/v1/applications',
    {
      config: route('admin.applications.create'),
      schema: {
        ...about('Make an application'),
        body: schemas.ApplicationInput,
        response: { 201: schemas.ApplicationAnswer },
      },
    },
    async (request, reply) => {
      const { name, policy = {}, entitlements = [] } = request.body
      return reply
        .status(201)
        .send(applicationAnswer(await operator.createApplication(actor, { name, policy, entitlements })))
    },
  )
  app.get(
    '/admin/v1/applications',
    {
      config: route('admin.applications.list'),
      schema: {
        ...about('Every application'),
        querystring: nothing,
        response: { 200: list('applications', schemas.ApplicationAnswer) },
      },
    },
    async () => ({ applications: (await operator.read.applications()).map(applicationAnswer) }),
  )
  app.get(
    '/admin/v1/applications/:application_id',
    {
      config: route('admin.applications.read'),
      schema: {
        ...about('One application'),
        params: byId('application_id'),
        querystring: nothing,
        response: { 200: schemas.ApplicationAnswer },
      },
    },
    async (request) => applicationAnswer(await operator.application(request.params.application_id!)),
  )
  app.patch(
    '/admin/v1/applications/:application_id',
    {
      config: route('admin.applications.update'),
      schema: {
        ...about('Change the name or the policy of an application', 'Acts on the next request.'),
        params: byId('application_id'),
        body: schemas.ApplicationPatch,
        response: { 200: schemas.ApplicationAnswer },
      },
    },
    async (request) => {
      const { name, policy } = request.body
      const applicationId = request.params.application_id!
      return applicationAnswer(await operator.patchApplication(actor, applicationId, { name, policy }, checkedPolicy))
    },
  )
  app.put(
    '/admin/v1/applications/:application_id/entitlements',
    {
      config: route('admin.entitlements.put'),
      schema: {
        ...about('Replace the entitlements of an application', 'Acts on the next request.'),
        params: byId('application_id'),
        body: schemas.EntitlementsInput,
        response: { 200: schemas.ApplicationAnswer },
      },
    },
    async (request) => {
      const applicationId = request.params.application_id!
      await operator.commit(actor, [
        { kind: 'entitlements.put', applicationId, entitlements: request.body.entitlements },
      ])
      return applicationAnswer(await operator.application(applicationId))
    },
  )
}

function checkedPolicy(merged: unknown): Policy {
  if (policyValidator(merged)) return merged as Policy
  const details = detailsOf(policyValidator.errors ?? []).map(({ path, message }) => ({
    path: `policy.${path}`,
    message,
  }))
  throw new TidemarkError('invalid_request', messageOf(details), { details })
}

function keyRoutes(app: TypedApp, operator: Operator): void {
  app.post(
    '/admin/v1/applications/:application_id/keys',
    {
      config: route('admin.keys.create'),
      schema: {
        ...about('Make a consumer API key'),
        params: byId('application_id'),
        body: optionalBody(schemas.KeyInput),
        response: { 201: schemas.KeyCreated },
      },
    },
    async (request, reply) => {
      const { name = null, expires_at: expires } = request.body ?? {}
      const expiresAt = expires === undefined ? null : parseTime(expires)
      if (expiresAt !== null && expiresAt <= Date.now()) {
        const details = [{ path: 'expires_at', message: 'must be in the future' }]
        throw new TidemarkError('invalid_request', messageOf(details), { details })
      }
      const key = await operator.createKey(actor, request.params.application_id!, { name, expiresAt })
      return reply
        .status(201)
        .send({ key_id: key.keyId, api_key: key.secret, expires_at: formatOptionalTime(key.expiresAt) })
    },
  )
  app.get(
    '/admin/v1/applications/:application_id/keys',
    {
      config: route('admin.keys.list'),
      schema: {
        ...about('The keys of an application', 'Revoked and expired ones included; never the secrets.'),
        params: byId('application_id'),
        querystring: nothing,
        response: { 200: list('keys', schemas.KeyAnswer) },
      },
    },
    async (request) => {
      const { applicationId } = await operator.application(request.params.application_id!)
      return { keys: (await operator.read.keys({ applicationId })).map(keyAnswer) }
    },
  )
  app.get(
    '/admin/v1/keys',
    {
      config: route('admin.keys.listAll'),
      schema: {
        ...about('Every key, of applications and of collectors'),
        querystring: nothing,
        response: { 200: list('keys', schemas.KeyAnswer) },
      },
    },
    async () => ({ keys: (await operator.read.keys({})).map(keyAnswer) }),
  )
  app.post(
    '/admin/v1/keys/:key_id/revoke',
    {
      config: route('admin.keys.revoke'),
      schema: {
        ...about('Revoke a key', 'Refused from the next request on. Revoking twice changes nothing.'),
        params: byId('key_id'),
        body: optionalBody(nothing),
        response: { 200: schemas.KeyAnswer },
      },
    },
    async (request) => keyAnswer(await operator.revokeKey(actor, request.params.key_id!)),
  )
  app.post(
    '/admin/v1/keys/:key_id/rotate',
    {
      config: route('admin.keys.rotate'),
      schema: {
        ...about('Make a new key in place of one', 'The old key works for the grace time, 24 hours when absent.'),
        params: byId('key_id'),
        body: optionalBody(schemas.RotateInput),
        response: { 201: schemas.KeyRotated },
      },
    },
    async (request, reply) => {
      const grace = request.body?.grace_seconds ?? rotationGraceSecondsDefault
      const key = await operator.rotateKey(actor, request.params.key_id!, grace)
      return reply.status(201).send({
        key_id: key.keyId,
        api_key: key.secret,
        expires_at: formatOptionalTime(key.expiresAt),
        replaces: request.params.key_id!,
        old_key_expires_at: formatTime(key.oldExpiresAt),
      })
    },
  )
}

function collectorRoutes(app: TypedApp, operator: Operator): void {
  app.post(
    '/admin/v1/collectors',
    {
      config: route('admin.collectors.create'),
      schema: {
        ...about('Make a collector and its key'),
        body: schemas.CollectorInput,
        response: { 201: schemas.CollectorCreated },
      },
    },
    async (request, reply) => {
      const { name, datasets = null } = request.body
      const made = await operator.createCollector(actor, { name, datasets })
      return reply.status(201).send({ collector_id: made.collectorId, collector_key: made.secret, key_id: made.keyId })
    },
  )
  app.get(
    '/admin/v1/collectors',
    {
      config: route('admin.collectors.list'),
      schema: {
        ...about('Every collector'),
        querystring: nothing,
        response: { 200: list('collectors', schemas.CollectorAnswer) },
      },
    },
    async () => ({ collectors: (await operator.read.collectors()).map(collectorAnswer) }),
  )
}

const Day = Type.String({ format: 'date', description: 'A UTC calendar day, 2026-11-15.' })

function reportRoutes(app: TypedApp, operator: Operator): void {
  app.get(
    '/admin/v1/usage',
    {
      config: route('admin.usage.read'),
      schema: {
        ...about('Use per application, day and operation', `The last ${usageDaysDefault} days when no day is named.`),
        querystring: Type.Object(
          { from_day: Type.Optional(Day), to_day: Type.Optional(Day), application_id: Type.Optional(Type.String()) },
          { additionalProperties: false },
        ),
        response: { 200: list('usage', schemas.UsageAnswer) },
      },
    },
    async (request) => {
      const now = Date.now()
      const { from_day, to_day, application_id } = request.query
      const usage = await operator.read.usage({
        fromDay: from_day ?? utcDay(now - (usageDaysDefault - 1) * 86_400_000),
        toDay: to_day ?? utcDay(now),
        applicationId: application_id ?? null,
      })
      return {
        usage: usage.map((one) => ({
          application_id: one.applicationId,
          day: one.day,
          operation: one.operation,
          used: one.used,
        })),
      }
    },
  )
  app.get(
    '/admin/v1/audit',
    {
      config: route('admin.audit.list'),
      schema: {
        ...about('Every change an operator made, newest first'),
        querystring: Type.Object(
          {
            limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 200, default: 50 })),
            before: Type.Optional(Type.String({ description: '`next_before` of the previous page.' })),
          },
          { additionalProperties: false },
        ),
        response: {
          200: Type.Object({
            audit: Type.Array(schemas.AuditAnswer),
            next_before: Type.Union([Type.String(), Type.Null()]),
          }),
        },
      },
    },
    async (request) => {
      const limit = request.query.limit ?? 50
      const lines = await operator.read.audit({ before: request.query.before ?? null, limit })
      return {
        audit: lines.map((line) => ({
          audit_id: line.auditId,
          at: formatTime(line.at),
          actor: line.actor,
          action: line.action,
          target: line.target,
          detail: line.detail,
        })),
        next_before: lines.length === limit ? (lines.at(-1)?.auditId ?? null) : null,
      }
    },
  )
}
