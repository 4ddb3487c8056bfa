// The app of the scale measurements, in its own process.
import { scaleApp } from '../apps/scale.ts';
import { ready } from './child.ts';

const { url } = await scaleApp(process.env).start({ port: 0, roles: ['web'] });
ready(url);
