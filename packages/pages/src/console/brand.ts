import icon from './icon.svg';
import { texts } from './texts.ts';

const { title, logo = icon } = document.getElementById('app')?.dataset ?? {};

/** What stands for the console in its header, by the settings of the app. */
export const brand = { name: title ?? texts.shell.console, logo };

/** The name of the console in the titles of its pages. */
export const consoleName = (appName: string): string => title ?? texts.shell.consoleOf(appName);
