import { askRaw } from '../app/ask.ts'

/** Changes something by the admin API. Gives what it answers; null where that is nothing. */
export async function send<Body>(
  method: 'POST' | 'PUT' | 'PATCH' | 'DELETE',
  path: string,
  body?: unknown,
): Promise<Body> {
  const answer = await askRaw(method, path, { as: 'admin', ...(body === undefined ? {} : { body }) })
  const text = await answer.text()
  return (text === '' ? null : JSON.parse(text)) as Body
}
