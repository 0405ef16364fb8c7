import { Type } from 'typebox'
import { usageInWords } from '../access/operations.ts'
import type { UsageBook } from '../access/usage-book.ts'
import { conditionOf, IfMatchHeaders } from '../http/conditional-requests.ts'
import { NewestFirst, nextBefore, pageOf } from '../http/newest-first.ts'
import type { TypedApp } from '../http/typed-app.ts'
import { dayMs, utcDay } from '../platform/time.ts'
import { named, noFields, orNull, strict } from '../platform/validation.ts'
import { about, actorOf, byId, list, needRole, route, tagged } from './admin-route.ts'
import { classificationAnswer, datasetAnswer, profileAnswer } from './answers.ts'
import { applicationRoutes } from './application-routes.ts'
import { auditAnswer } from './audit-answer.ts'
import { collectorRoutes, keyRoutes } from './credential-routes.ts'
import { examineAccess } from './examine.ts'
import type { Operator } from './operator.ts'
import * as schemas from './schemas.ts'
import { tokenRoutes } from './token-routes.ts'

const usageDaysDefault = 7

export function operatorRoutes(app: TypedApp, operator: Operator, usage: UsageBook): void {
  datasetRoutes(app, operator)
  profileRoutes(app, operator)
  applicationRoutes(app, operator)
  keyRoutes(app, operator)
  collectorRoutes(app, operator)
  tokenRoutes(app, operator)
  reportRoutes(app, operator, usage)
}

function datasetRoutes(app: TypedApp, operator: Operator): void {
  app.put(
    '/admin/v1/datasets/:dataset_id',
    {
      config: route('operator', 'admin.datasets.put', 'conflict'),
      schema: {
        ...about(
          'Create or update a dataset',
          'Changing `retain_days` requires the role `owner`, because it can erase documents.',
        ),
        headers: IfMatchHeaders,
        params: Type.Object({ dataset_id: schemas.DatasetId }),
        body: schemas.DatasetInput,
        response: { 200: schemas.DatasetAnswer, 201: schemas.DatasetAnswer },
      },
    },
    async (request, reply) => {
      const datasetId = request.params.dataset_id
      const { name, description = null, retain_days: retainDays } = request.body
      if (retainDays !== undefined) {
        const there = (await operator.read.datasets()).find((one) => one.datasetId === datasetId)
        // A changed number may erase documents, so it needs the same role as other erasures.
        if (retainDays !== (there?.retainDays ?? null)) needRole(request, 'owner')
      }
      const kept = retainDays === undefined ? {} : { retainDays }
      const change = {
        kind: 'dataset.put',
        datasetId,
        name,
        description,
        ...kept,
        ...conditionOf(request.headers),
      } as const
      const [outcome] = await operator.commit(actorOf(request), [change])
      if (outcome === 'created') reply.status(201).header('location', `/admin/v1/datasets/${datasetId}`)
      const put = await operator.dataset(datasetId)
      return tagged(reply, put).send(datasetAnswer(put))
    },
  )
  app.get(
    '/admin/v1/datasets',
    {
      config: route('viewer', 'admin.datasets.list'),
      schema: {
        ...about('List datasets'),
        querystring: noFields,
        response: { 200: list('DatasetList', 'datasets', schemas.DatasetAnswer) },
      },
    },
    async () => ({ datasets: (await operator.read.datasets()).map(datasetAnswer) }),
  )
  app.get(
    '/admin/v1/datasets/:dataset_id',
    {
      config: route('viewer', 'admin.datasets.read', 'not_found'),
      schema: {
        ...about('Get a dataset'),
        params: byId('dataset_id'),
        querystring: noFields,
        response: { 200: schemas.DatasetAnswer },
      },
    },
    async (request, reply) => {
      const found = await operator.dataset(request.params.dataset_id!)
      return tagged(reply, found).send(datasetAnswer(found))
    },
  )
  app.put(
    '/admin/v1/datasets/:dataset_id/classifications/:code',
    {
      config: route('operator', 'admin.classifications.put', 'not_found'),
      schema: {
        ...about('Create or update a classification'),
        headers: IfMatchHeaders,
        params: Type.Object({ dataset_id: schemas.DatasetId, code: schemas.ClassificationCode }),
        body: schemas.ClassificationInput,
        response: { 200: schemas.ClassificationAnswer, 201: schemas.ClassificationAnswer },
      },
    },
    async (request, reply) => {
      const { dataset_id: datasetId, code } = request.params
      const { name, description = null, label_schema: labelSchema = {}, active = true } = request.body
      const one = { datasetId, code, name, description, labelSchema, active }
      const change = { kind: 'classification.put', ...one, ...conditionOf(request.headers) } as const
      const [outcome] = await operator.commit(actorOf(request), [change])
      const address = `/admin/v1/datasets/${datasetId}/classifications/${encodeURIComponent(code)}`
      if (outcome === 'created') reply.status(201).header('location', address)
      const put = await operator.classification(datasetId, code)
      return tagged(reply, put).send(classificationAnswer(put))
    },
  )
  app.get(
    '/admin/v1/datasets/:dataset_id/classifications',
    {
      config: route('viewer', 'admin.classifications.list', 'not_found'),
      schema: {
        ...about('List the classifications of a dataset', 'Includes inactive classifications.'),
        params: byId('dataset_id'),
        querystring: noFields,
        response: { 200: list('ManagedClassificationList', 'classifications', schemas.ClassificationAnswer) },
      },
    },
    async (request) => {
      const { datasetId } = await operator.dataset(request.params.dataset_id!)
      return { classifications: (await operator.read.classifications(datasetId)).map(classificationAnswer) }
    },
  )
  app.get(
    '/admin/v1/datasets/:dataset_id/classifications/:code',
    {
      config: route('viewer', 'admin.classifications.read', 'not_found'),
      schema: {
        ...about('Get a classification', 'Returns inactive classifications, too.'),
        params: Type.Object({ dataset_id: schemas.DatasetId, code: schemas.ClassificationCode }),
        querystring: noFields,
        response: { 200: schemas.ClassificationAnswer },
      },
    },
    async (request, reply) => {
      const found = await operator.classification(request.params.dataset_id, request.params.code)
      return tagged(reply, found).send(classificationAnswer(found))
    },
  )
}

function profileRoutes(app: TypedApp, operator: Operator): void {
  app.put(
    '/admin/v1/embedding-profiles/:id',
    {
      config: route('operator', 'admin.profiles.put', 'conflict'),
      schema: {
        ...about(
          'Create or update an embedding profile',
          'The dimensions of a profile cannot be changed once they are known.',
        ),
        headers: IfMatchHeaders,
        params: Type.Object({ id: schemas.ProfileId }),
        body: schemas.ProfileInput,
        response: { 200: schemas.ProfileAnswer, 201: schemas.ProfileAnswer },
      },
    },
    async (request, reply) => {
      const profileId = request.params.id
      const change = { kind: 'profile.put', profileId, ...request.body, ...conditionOf(request.headers) } as const
      const [outcome] = await operator.commit(actorOf(request), [change])
      if (outcome === 'created') reply.status(201).header('location', `/admin/v1/embedding-profiles/${profileId}`)
      const put = await operator.profile(profileId)
      return tagged(reply, put).send(profileAnswer(put))
    },
  )
  app.get(
    '/admin/v1/embedding-profiles',
    {
      config: route('viewer', 'admin.profiles.list'),
      schema: {
        ...about('List embedding profiles'),
        querystring: noFields,
        response: { 200: list('EmbeddingProfileList', 'embedding_profiles', schemas.ProfileAnswer) },
      },
    },
    async () => ({ embedding_profiles: (await operator.read.embeddingProfiles()).map(profileAnswer) }),
  )
  app.get(
    '/admin/v1/embedding-profiles/:id',
    {
      config: route('viewer', 'admin.profiles.read', 'not_found'),
      schema: {
        ...about('Get an embedding profile'),
        params: Type.Object({ id: schemas.ProfileId }),
        querystring: noFields,
        response: { 200: schemas.ProfileAnswer },
      },
    },
    async (request, reply) => {
      const found = await operator.profile(request.params.id)
      return tagged(reply, found).send(profileAnswer(found))
    },
  )
}

const day = (description: string) => Type.Optional(Type.String({ format: 'date', description }))

function reportRoutes(app: TypedApp, operator: Operator, book: UsageBook): void {
  app.get(
    '/admin/v1/usage',
    {
      config: route('viewer', 'admin.usage.read'),
      schema: {
        ...about(
          'Get usage',
          `Requests per application, day and operation. ${usageInWords} Counts of other processes may lag by about ten seconds. Default: the last ${usageDaysDefault} days.`,
        ),
        querystring: Type.Object(
          {
            from_day: day(`The first UTC day, such as 2026-11-15. Default: ${usageDaysDefault - 1} days ago.`),
            to_day: day('The last UTC day, inclusive. Default: today.'),
            application_id: Type.Optional(
              Type.String({ minLength: 1, maxLength: 128, description: 'Only this application. Default: all.' }),
            ),
          },
          strict,
        ),
        response: { 200: list('UsageList', 'usage', schemas.UsageAnswer) },
      },
    },
    async (request) => {
      const now = Date.now()
      const { from_day, to_day, application_id } = request.query
      await book.flush()
      const usage = await operator.read.usage({
        fromDay: from_day ?? utcDay(now - (usageDaysDefault - 1) * dayMs),
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
      config: route('viewer', 'admin.audit.list'),
      schema: {
        ...about('List the audit log', 'Every change made by an operator, newest first.'),
        querystring: NewestFirst,
        response: {
          200: named(
            'AuditPage',
            Type.Object({
              audit: Type.Array(schemas.AuditAnswer),
              next_before: orNull(Type.String()),
            }),
          ),
        },
      },
    },
    async (request) => {
      const page = pageOf('aud', request.query)
      const lines = await operator.read.audit(page)
      return {
        audit: lines.map(auditAnswer),
        next_before: nextBefore(lines, page.limit, (line) => line.auditId),
      }
    },
  )
  app.get(
    '/admin/v1/findings',
    {
      config: route('viewer', 'admin.findings.list'),
      schema: {
        ...about(
          'List findings',
          'Addition: what `tidemark doctor` reports about datasets, applications, their entitlements and keys, with advice. The command also examines the machine, the store and the index; for their state see `GET /readyz` and `GET /admin/v1/indexing`.',
        ),
        querystring: noFields,
        response: { 200: list('FindingList', 'findings', schemas.FindingAnswer) },
      },
    },
    async () => ({ findings: [...(await examineAccess(operator.read))] }),
  )
}
