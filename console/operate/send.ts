import { askRaw } from '../app/ask.ts'

/** Changes something by the admin API, of which `tag` names the state that it must be in. Gives what it answers; null where that is nothing. */
export async function send<Body>(
  method: 'POST' | 'PUT' | 'PATCH' | 'DELETE',
  path: string,
  body?: unknown,
  tag: string | null = null,
): Promise<Body> {
  const answer = await askRaw(method, path, {
    as: 'admin',
    ...(body !== undefined && { body }),
    ...(tag !== null && { headers: { 'if-match': tag } }),
  })
  const text = await answer.text()
  return (text === '' ? null : JSON.parse(text)) as Body
}
