/** Notifies of writes to the store, so that listeners need not poll. */
export interface WriteNotifications {
  /**
   * Calls the listener soon after any process has written something that a background job may have to act on. `end`
   * stops the calls.
   */
  follow(listener: () => void): { end(): void }
}
