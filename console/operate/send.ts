import { callApiRaw } from '../app/call-api.ts'

/**
 * Sends a change to the admin API. `tag` is the ETag of the state to change. Returns the response; null if it is empty.
 */
export async function send<Body>(
  method: 'POST' | 'PUT' | 'PATCH' | 'DELETE',
  path: string,
  body?: unknown,
  tag: string | null = null,
): Promise<Body> {
  const answer = await callApiRaw(method, path, {
    as: 'admin',
    ...(body !== undefined && { body }),
    ...(tag !== null && { headers: { 'if-match': tag } }),
  })
  const text = await answer.text()
  return (text === '' ? null : JSON.parse(text)) as Body
}
