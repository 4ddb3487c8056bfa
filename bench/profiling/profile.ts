export async function runProfile(_args: string[]): Promise<void> {}
