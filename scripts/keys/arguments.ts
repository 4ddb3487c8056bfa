/** The parsed command line. */
export interface KeysArguments {
  command: 'generate' | 'status' | 'rotate';
  /** The id of a key that is lost. */
  giveUp: string | undefined;
}

const COMMANDS = ['generate', 'status', 'rotate'];

/**
 * Reads the command line of `npm run keys`.
 *
 * @throws Error with a message for the terminal
 */
export function readKeysArguments([command, ...rest]: readonly string[]): KeysArguments {
  const [option, giveUp] = rest;
  const givesUp = command === 'rotate' && option === '--give-up';
  if (givesUp && (rest.length !== 2 || !/^[0-9a-f]{8}$/.test(giveUp!)))
    throw new Error('--give-up needs the id of the lost key, 8 hex digits. npm run keys -- status shows it.');
  if (rest.length > 0 && !givesUp)
    throw new Error(`Unknown argument ${rest.join(' ')}. Usage: npm run keys -- generate, status or rotate.`);
  if (command === undefined || !COMMANDS.includes(command)) {
    const problem = command === undefined ? 'No command given' : `Unknown command ${command}`;
    throw new Error(`${problem}. Usage: npm run keys -- generate, status or rotate.`);
  }
  return { command: command as KeysArguments['command'], giveUp };
}
