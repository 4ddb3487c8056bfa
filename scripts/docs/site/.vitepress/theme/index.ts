import { type Theme, useData, withBase } from 'vitepress';
import DefaultTheme from 'vitepress/theme-without-fonts';
import { h } from 'vue';
import './style.css';

export default {
  extends: DefaultTheme,
  Layout: () => {
    const { frontmatter, page } = useData();
    const markdown = { class: 'as-markdown', href: withBase(`/${page.value.filePath}`), target: '_self' };
    return h(DefaultTheme.Layout, null, {
      'home-hero-info-after': () => h('pre', { class: 'commands' }, frontmatter.value.hero.commands),
      // The development server has no such files.
      'doc-footer-before': () => import.meta.env.PROD && h('a', markdown, 'This page as Markdown'),
    });
  },
} satisfies Theme;
