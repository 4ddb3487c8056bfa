const LISTS = ['resources', 'extensions', 'transports'];
const OPTIONS = ['resources', 'extensions', 'settings', 'transports', 'listeners'];

function isNamed(part: unknown): boolean {
  return typeof (part as { name?: unknown } | null | undefined)?.name === 'string';
}

function isObject(part: unknown): boolean {
  return (typeof part === 'object' && part !== null) || typeof part === 'function';
}

/**
 * What `createApp` was given that it does not take.
 *
 * @returns whether it is whole enough to look for mistakes in the declarations
 */
export function optionMistakes(options: object, fault: (text: string) => void): boolean {
  const given = options as Record<string, unknown>;
  for (const name of Object.keys(given)) {
    if (!OPTIONS.includes(name)) fault(`"${name}" is not an option of createApp; options: ${OPTIONS.join(', ')}`);
  }
  if (!['undefined', 'function'].includes(typeof given.listeners)) fault('listeners: must be a function');
  const wrong = LISTS.filter((name) => !Array.isArray(given[name] ?? (name === 'resources' ? undefined : [])));
  for (const name of wrong) fault(`${name}: must be a list`);
  if (wrong.length > 0) return false;
  const named = (given.resources as unknown[]).every(isNamed);
  if (!named) fault('resources: each is made with defineResource or defineUser');
  const strangers = [...((given.extensions ?? []) as unknown[]).entries()].filter(([, one]) => !isObject(one));
  for (const [i, one] of strangers)
    fault(`extensions[${i}]: ${String(one)} is no extension; make it with defineExtension`);
  return named && strangers.length === 0;
}
