import type { ComponentChild } from 'preact';

/** Logos in the colours of their owners, drawn on 24 × 24. Apple and GitHub have the colour of the text. */
const LOGOS: Readonly<Record<string, ComponentChild>> = {
  apple: (
    <path
      fill="currentColor"
      d="M12.2 8C10.2 7 8.7 6.8 7.2 7.6c-2.4 1.2-3 4-2.3 7 .7 3 2.7 6.2 4.6 6.2 1 0 1.6-.6 2.9-.6s1.8.6 2.8.6c2 0 3.7-2.9 4.3-4.8-1.7-.8-2.4-2.2-2.4-3.8s.9-2.8 2.1-3.6c-1-1.3-2.6-1.7-3.8-1.6-1.3.1-2.3 1-3.2 1zm.1-1.4c-.2-2 1.4-3.8 3.3-4 .2 2-1.3 3.9-3.3 4z"
    />
  ),
  discord: (
    <path
      fill="#5865f2"
      fill-rule="evenodd"
      d="M5 6c3-1.5 11-1.5 14 0 2 4 2.5 8 2 11.5-1.5 1.5-3.5 2-4.5 2l-1-2c-2.5.7-4.5.7-7 0l-1 2c-1 0-3-.5-4.5-2C2.5 14 3 10 5 6zm4 4.6a1.8 1.8 0 1 0 0 3.6 1.8 1.8 0 0 0 0-3.6zm6 0a1.8 1.8 0 1 0 0 3.6 1.8 1.8 0 0 0 0-3.6z"
    />
  ),
  github: (
    <path
      fill="currentColor"
      d="M12 1.8a10.2 10.2 0 0 0-3.2 19.9c.4 0 .6-.2.6-.6v-3.3c-2.4-.7-3.4-2.6-3.4-5.2 0-1.1.3-2 .9-2.8-.3-.9-.2-1.9.2-3 1.1.1 2 .5 2.8 1.1 1.4-.3 2.8-.3 4.2 0 .8-.6 1.7-1 2.8-1.1.4 1.1.5 2.1.2 3 .6.8.9 1.7.9 2.8 0 2.6-1 4.5-3.4 5.2v3.3c0 .4.2.7.6.6A10.2 10.2 0 0 0 12 1.8z"
    />
  ),
  gitlab: (
    <>
      <path fill="#e24329" d="M12 21.5 2.5 14.3 6 3.5 8.8 11h6.4L18 3.5l3.5 10.8z" />
      <path fill="#fca326" d="M12 21.5 2.5 14.3 4 10zM12 21.5l9.5-7.2L20 10z" />
    </>
  ),
  google: (
    <g fill="none" stroke-width="4">
      <path stroke="#4285f4" d="M12 12h8a8 8 0 0 1-2.34 5.66" />
      <path stroke="#34a853" d="M17.66 17.66A8 8 0 0 1 5.07 16" />
      <path stroke="#fbbc05" d="M5.07 16a8 8 0 0 1 0-8" />
      <path stroke="#ea4335" d="M5.07 8a8 8 0 0 1 12.59-1.66" />
    </g>
  ),
  microsoft: (
    <>
      <path fill="#f25022" d="M3 3h8.5v8.5H3z" />
      <path fill="#7fba00" d="M12.5 3H21v8.5h-8.5z" />
      <path fill="#00a4ef" d="M3 12.5h8.5V21H3z" />
      <path fill="#ffb900" d="M12.5 12.5H21V21h-8.5z" />
    </>
  ),
};

/** What stands for a provider beside its name: its logo, or the first letter of its name. */
export function ProviderIcon({ name, icon = '' }: { name: string; icon?: string }) {
  if (!Object.hasOwn(LOGOS, icon))
    return (
      <span class="provider-icon letter" aria-hidden="true">
        {Array.from(name)[0]?.toUpperCase()}
      </span>
    );
  return (
    <svg class="provider-icon" viewBox="0 0 24 24" aria-hidden="true">
      {LOGOS[icon]}
    </svg>
  );
}
