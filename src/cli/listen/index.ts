import { type Command, InvalidArgumentError } from 'commander';
import type { ListenOptions } from './listen.ts';

interface CommandOptions {
  app?: string;
  token?: string;
  endpoint?: string;
  events?: string[];
  organisation?: string;
  alwaysAck?: boolean;
}

function parseHttpUrl(text: string, example: string): URL {
  const url = URL.parse(text);
  if (url !== null && /^https?:$/.test(url.protocol)) return url;
  throw new InvalidArgumentError(`It must look like ${example}.`);
}

const parseReceiver = (text: string) => parseHttpUrl(text, 'http://localhost:3000/hooks');
const parseOrigin = (text: string) => parseHttpUrl(text, 'https://app.example.com').origin;

function parseEndpoint(text: string): string {
  if (/^[0-9a-f]{24}$/.test(text)) return text;
  throw new InvalidArgumentError('It must be an id of 24 hex digits.');
}

const parseEvents = (text: string) => text.split(',').map((name) => name.trim());

/** Resolves the target of the command, or reports how the command line is wrong. */
function readTarget({ endpoint, events }: CommandOptions, command: Command): ListenOptions['target'] {
  if (endpoint !== undefined && events === undefined) return { endpoint };
  if (events !== undefined && endpoint === undefined) return { events };
  return command.error('error: give either --endpoint or --events.');
}

/** Adds `belfry listen`, which brings the webhooks of a deployed app to this machine. */
export function addListenCommand(program: Command): void {
  program
    .command('listen')
    .description('Bring the webhooks of a deployed app to a URL of this machine')
    .argument('<url>', 'The URL of your receiver, such as http://localhost:3000/hooks', parseReceiver)
    .option('--app <url>', 'The address of the deployed app', parseOrigin)
    .option('--token <token>', 'An API key or a session token. Default: the environment variable BELFRY_TOKEN')
    .option('--endpoint <id>', 'A polled webhook endpoint that exists', parseEndpoint)
    .option(
      '--events <names>',
      'Listen for these events with an endpoint of its own: post.created,comment.*',
      parseEvents,
    )
    .option('--organisation <id>', 'With --events: for this organisation, by id or slug, under the default role')
    .option('--always-ack', 'Go on after any response. Default: only after a 2xx')
    .action(async (url: URL, options: CommandOptions, command: Command) => {
      const { app, organisation } = options;
      if (app === undefined) return command.error('error: --app is missing.');
      const token = options.token ?? process.env.BELFRY_TOKEN;
      if (token === undefined || token === '')
        return command.error('error: --token or the variable BELFRY_TOKEN is missing.');
      const target = readTarget(options, command);
      const { listen } = await import('./listen.ts');
      const stopping = new AbortController();
      const stop = () => stopping.abort();
      // A second signal ends the process at once.
      for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, stop);
      try {
        await listen({ url, app, token, target, organisation, alwaysAck: options.alwaysAck ?? false }, stopping.signal);
      } finally {
        for (const signal of ['SIGINT', 'SIGTERM'] as const) process.off(signal, stop);
      }
    });
}
