/** What was asked for at the command line. */
export interface KeysArguments {
  command: 'generate' | 'status' | 'rotate';
  /** The id of a key that is lost. */
  giveUp: string | undefined;
}

const COMMANDS = ['generate', 'status', 'rotate'];

/**
 * Reads the command line of `npm run keys`.
 *
 * @throws Error with a line for the person at the terminal
 */
export function readKeysArguments([command, ...rest]: readonly string[]): KeysArguments {
  const [option, giveUp] = rest;
  const givesUp = command === 'rotate' && option === '--give-up';
  if (givesUp && (rest.length !== 2 || !/^[0-9a-f]{8}$/.test(giveUp!)))
    throw new Error('--give-up takes the id of a key that is lost, 8 hex digits: npm run keys -- status shows it.');
  if (rest.length > 0 && !givesUp)
    throw new Error(`Unknown argument ${rest.join(' ')}. npm run keys takes one: generate, status or rotate.`);
  if (command === undefined || !COMMANDS.includes(command)) {
    const wrong = command === undefined ? 'Say what to do' : `Unknown command ${command}`;
    throw new Error(`${wrong}: npm run keys -- generate, status or rotate.`);
  }
  return { command: command as KeysArguments['command'], giveUp };
}
