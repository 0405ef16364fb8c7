import Fastify, { type RouteOptions } from 'fastify'
import { openApiOptions } from './openapi.ts'

declare module 'fastify' {
  interface FastifyInstance {
    /** The OpenAPI description of all routes. */
    describe(): Promise<object>
  }
}

/** The parts of a route that its description is made of. */
export type DescribedRoute = Pick<RouteOptions, 'method' | 'url' | 'schema' | 'config'>

/**
 * Makes the OpenAPI description of routes, in a separate server that is never started. Few clients request it, so the
 * package that makes it is not loaded at start.
 */
export async function describeRoutes(
  routes: readonly DescribedRoute[],
  schemas: Readonly<Record<string, unknown>>,
): Promise<object> {
  const { default: swagger } = await import('@fastify/swagger')
  const app = Fastify({ exposeHeadRoutes: false })
  app.setValidatorCompiler(() => () => true)
  app.setSerializerCompiler(() => () => '')
  await app.register(swagger, openApiOptions)
  for (const schema of Object.values(schemas)) app.addSchema(schema)
  for (const { method, url, schema = {}, config = {} } of routes) {
    app.route({ method, url, schema, config, handler: () => {} })
  }
  await app.ready()
  return app.swagger()
}
