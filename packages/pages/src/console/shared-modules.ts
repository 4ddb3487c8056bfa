/**
 * What tabs outside of this repository import, by several names: one module for all of them, so that the console itself is one file instead of
 * one for each name.
 */
export * from '@preact/signals';
export * from 'preact';
export * from 'preact/hooks';
export { jsx, jsxDEV, jsxs } from 'preact/jsx-runtime';
export * from './kit.ts';
