import { adminConsole, apiKeys, createApp, securityMails, webhooks } from 'belfry';
import { post } from './resources/post.ts';
import { user } from './resources/user.ts';

/** The app: its resources, extensions and settings. Every process and every test creates it from this function. */
export const app = (environment: Record<string, string | undefined>) =>
  createApp(
    {
      resources: [user, post],
      extensions: [webhooks(), apiKeys(), securityMails(), adminConsole()],
      settings: {},
    },
    environment,
  );
