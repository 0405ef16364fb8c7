export async function recallOfFile(path: string): Promise<void> {
  void path
}
