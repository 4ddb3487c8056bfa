// The app of the measurements of lists that follow relations, in its own process.
import { createRelatedApp } from '../apps/related.ts';
import { reportReady } from './child.ts';

const { url } = await createRelatedApp(process.env).start({ port: 0, roles: ['web'] });
reportReady(url);
