import { adminConsole, apiKeys, createApp, securityMails, twoFactor, webhooks } from '../index.ts';
import { comment } from './resources/comment.ts';
import { post } from './resources/post.ts';
import { user } from './resources/user.ts';

/** This deployment: its resources, extensions and settings. Every process creates the same app. */
export const app = (environment: Record<string, string | undefined>) =>
  createApp(
    {
      resources: [user, post, comment],
      extensions: [webhooks(), apiKeys(), twoFactor(), securityMails(), adminConsole()],
      settings: {},
    },
    environment,
  );
