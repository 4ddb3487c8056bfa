/** Prints an error and ends the command with exit code 1. */
export function fail(message: string): never {
  console.error(message);
  process.exit(1);
}
