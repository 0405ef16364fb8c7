import { Type } from 'typebox'
import { Policy } from '../access/policy.ts'
import { conditionOf, IfMatchHeaders } from '../http/conditional-requests.ts'
import { IdempotencyHeaders } from '../http/make-once.ts'
import type { TypedApp } from '../http/typed-app.ts'
import { TidemarkError } from '../platform/errors.ts'
import { detailsOf, messageOf, noFields, validatorFor } from '../platform/validation.ts'
import { about, actorOf, byId, list, route, tagged } from './admin-route.ts'
import { applicationAnswer } from './answers.ts'
import type { Operator } from './operator.ts'
import * as schemas from './schemas.ts'

const policyValidator = validatorFor(Policy, 'body')

export function applicationRoutes(app: TypedApp, operator: Operator): void {
  app.post(
    '/admin/v1/applications',
    {
      config: route('operator', 'admin.applications.create'),
      schema: {
        ...about('Create an application'),
        headers: IdempotencyHeaders,
        body: schemas.ApplicationInput,
        response: { 201: schemas.ApplicationAnswer },
      },
    },
    async (request, reply) => {
      const { name, policy = {}, entitlements = [] } = request.body
      const made = await request.makeOnce(
        (claim) => operator.createApplication(actorOf(request), { name, policy, entitlements }, claim),
        (applicationId) => operator.application(applicationId),
      )
      return tagged(reply, made)
        .status(201)
        .header('location', `/admin/v1/applications/${made.applicationId}`)
        .send(applicationAnswer(made))
    },
  )
  app.get(
    '/admin/v1/applications',
    {
      config: route('viewer', 'admin.applications.list'),
      schema: {
        ...about('List applications'),
        querystring: noFields,
        response: { 200: list('ApplicationList', 'applications', schemas.ApplicationAnswer) },
      },
    },
    async () => ({ applications: (await operator.read.applications()).map(applicationAnswer) }),
  )
  app.get(
    '/admin/v1/applications/:application_id',
    {
      config: route('viewer', 'admin.applications.read', 'not_found'),
      schema: {
        ...about('Get an application'),
        params: byId('application_id'),
        querystring: noFields,
        response: { 200: schemas.ApplicationAnswer },
      },
    },
    async (request, reply) => {
      const found = await operator.application(request.params.application_id!)
      return tagged(reply, found).send(applicationAnswer(found))
    },
  )
  app.patch(
    '/admin/v1/applications/:application_id',
    {
      config: route('operator', 'admin.applications.update', 'not_found', 'conflict'),
      schema: {
        ...about('Update an application', 'Changes its name, its policy or both. Takes effect with the next request.'),
        headers: IfMatchHeaders,
        params: byId('application_id'),
        body: schemas.ApplicationPatch,
        response: { 200: schemas.ApplicationAnswer },
      },
    },
    async (request, reply) => {
      const { name, policy } = request.body
      const patch = { name, policy, ...conditionOf(request.headers) }
      const applicationId = request.params.application_id!
      const patched = await operator.patchApplication(actorOf(request), applicationId, patch, checkedPolicy)
      return tagged(reply, patched).send(applicationAnswer(patched))
    },
  )
  app.delete(
    '/admin/v1/applications/:application_id',
    {
      config: route('operator', 'admin.applications.delete', 'not_found', 'in_use'),
      schema: {
        ...about(
          'Delete an application',
          'Its keys are refused from the next request on, its unfinished runs are cancelled and its subscriptions deleted. The audit log is kept. 409 `in_use`, with counts in `details`, if it has valid keys, unfinished runs or subscriptions and `force` is not true.',
        ),
        params: byId('application_id'),
        querystring: schemas.DeleteQuery,
        response: { 204: Type.Null({ description: 'Deleted.' }) },
      },
    },
    async (request, reply) => {
      await operator.deleteApplication(actorOf(request), request.params.application_id!, request.query.force === true)
      return reply.status(204).send(null)
    },
  )
  app.put(
    '/admin/v1/applications/:application_id/entitlements',
    {
      config: route('operator', 'admin.entitlements.put', 'not_found'),
      schema: {
        ...about('Replace entitlements', 'Takes effect with the next request.'),
        headers: IfMatchHeaders,
        params: byId('application_id'),
        body: schemas.EntitlementsInput,
        response: { 200: schemas.ApplicationAnswer },
      },
    },
    async (request, reply) => {
      const applicationId = request.params.application_id!
      const { entitlements } = request.body
      await operator.commit(actorOf(request), [
        { kind: 'entitlements.put', applicationId, entitlements, ...conditionOf(request.headers) },
      ])
      const put = await operator.application(applicationId)
      return tagged(reply, put).send(applicationAnswer(put))
    },
  )
}

function checkedPolicy(merged: unknown): Policy {
  if (policyValidator(merged)) return merged as Policy
  const details = detailsOf(policyValidator.errors).map(({ path, message }) => ({
    path: `policy.${path}`,
    message,
  }))
  throw new TidemarkError('invalid_request', messageOf(details), { details })
}
