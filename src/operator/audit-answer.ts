import type { Static } from 'typebox'
import { formatTime } from '../platform/time.ts'
import type { AuditLine } from './operator-store.ts'
import type { AuditAnswer } from './schemas.ts'

/** Entries are stored with the names and times of the code. This gives them those of the API, however old they are. */
export const auditAnswer = (line: AuditLine): Static<typeof AuditAnswer> => ({
  audit_id: line.auditId,
  at: formatTime(line.at),
  actor: line.actor,
  action: actionOf(line),
  target: line.target,
  detail: detailOf(line.detail),
})

/** Admin tokens are stored with the keys. */
const actionOf = ({ action, target }: AuditLine): string =>
  target.startsWith('tok_') ? action.replace(/^key\./, 'admin_token.') : action

const detailOf = (detail: Readonly<Record<string, unknown>>): Record<string, unknown> =>
  Object.fromEntries(Object.entries(detail).map(([name, value]) => [snakeCase(name), inApiForm(name, value)]))

function inApiForm(name: string, value: unknown): unknown {
  // The operator's own JSON stays unchanged.
  if (name === 'labelSchema') return value
  // The selection of an erasure is the name of a field, too.
  if (name === 'by' && typeof value === 'string') return snakeCase(value)
  if (name.endsWith('At') && typeof value === 'number') return formatTime(value)
  if (Array.isArray(value)) return value.map((one) => inApiForm('', one))
  return typeof value === 'object' && value !== null ? detailOf(value as Record<string, unknown>) : value
}

const snakeCase = (name: string): string => name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
