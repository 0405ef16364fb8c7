/** Tells of writes to the store, so that nobody need look for them. */
export interface WriteNews {
  /** Calls back soon after anything was written that somebody may have to act on, by whichever process; until it is ended. */
  follow(listener: () => void): { end(): void }
}
