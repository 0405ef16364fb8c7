import Fastify from 'fastify'

/** The least that Fastify can do: one route, no hook, no log, the JSON that it is started with. */
const answer = JSON.parse(process.argv[2]!)
const app = Fastify({ logger: false })
app.get('/v1/account', async () => answer)
console.log(await app.listen({ port: 0, host: '127.0.0.1' }))
