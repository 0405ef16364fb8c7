export async function killRounds(rounds: number): Promise<void> {
  void rounds
}
