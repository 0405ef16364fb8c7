import { isDamage, sqliteErrorKind } from './full-disk.ts'

const waitForIt = 'another process holds it: wait until that has finished, or stop it, then try again'
const giveRights = 'give this user read and write permission for it, for the files beside it and for its folder'

/**
 * The advice for each primary result code of SQLite. None of these errors means damaged data, so none suggests a
 * restore.
 */
const adviceByCode: Readonly<Record<number, string>> = {
  3: giveRights,
  5: waitForIt,
  6: waitForIt,
  7: 'give this process more memory, then try again',
  8: `${giveRights}, and make sure that its disk is not mounted read-only`,
  10: 'the disk cannot read or write it: make sure that it is a file, check the system log for disk errors, then try again',
  13: 'free up space on its disk, then try again',
  14: `make sure that it is a file, ${giveRights}, and make sure that its disk is not mounted read-only`,
  15: waitForIt,
  23: giveRights,
}

/**
 * The advice for an operator after an error of SQLite. Null if the file is damaged, because then only a restore helps.
 */
export const adviceOtherThanRestore = (error: unknown): string | null =>
  isDamage(error)
    ? null
    : (adviceByCode[sqliteErrorKind(error)] ??
      'this is a defect, or another program has changed the file: please report it')

export const isSqliteError = (error: unknown): error is Error =>
  (error as NodeJS.ErrnoException | null)?.code === 'ERR_SQLITE_ERROR'
