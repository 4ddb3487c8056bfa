import icon from './icon.svg';

const { title, logo = icon } = document.getElementById('app')?.dataset ?? {};

/** What stands for the console in its header, by the settings of the app. */
export const brand = { name: title ?? 'Console', logo };

/** The name of the console in the titles of its pages. */
export const consoleName = (appName: string): string => title ?? `${appName} console`;
