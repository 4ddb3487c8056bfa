// The app whose lists are measured as they grow, in a process of its own.
import { scaleApp } from '../scale/app.ts';
import { ready } from './child.ts';

const { url } = await scaleApp(process.env).start({ port: 0, roles: ['web'] });
ready(url);
